"""Reports on a run: its status, its page, and its results as pairs."""
