"""Dates and times in ten languages: find them in a text, read one, and compare two."""
