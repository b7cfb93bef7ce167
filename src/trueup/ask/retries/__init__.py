"""Failed calls: which of them are repeated, how long to wait, and when to ask another model."""
