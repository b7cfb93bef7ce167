"""Reads the units of a run, page by page, and one unit in full, for the screens and the studio."""
