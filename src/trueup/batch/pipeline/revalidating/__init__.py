"""Judges a run again with another pipeline, and applies the changes."""
