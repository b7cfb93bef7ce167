"""Finds the values of a reply in the source texts."""
