"""Retries failed units, and recognises failures that no retry can help."""
