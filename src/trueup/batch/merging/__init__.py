"""Judged ranges become the files of a sift, in the order of the input."""
