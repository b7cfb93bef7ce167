"""Retries failed units, and recognizes failures that no retry can help."""
