"""Dates and times of any text in ten languages: finding them, reading one, and comparing two."""
