"""What is said about a run: its status, its page, its results as pairs."""
