"""Messages in the shape of each provider: one neutral reading of them, and one module for each target."""
