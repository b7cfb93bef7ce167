"""Judges the lines of one range and makes their records."""
