"""A run judged again under another pipeline, and what changes in it."""
