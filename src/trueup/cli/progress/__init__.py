"""How long work is going, on standard error while it lasts."""
