"""Everything that is not a model's reply: checks, feedback, models, health, metrics, the status page."""
