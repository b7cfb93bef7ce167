"""Reads one side of a comparison, joins two sides by id, and finds the differences between two values."""
