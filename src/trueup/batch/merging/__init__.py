"""Merges judged ranges into the files of a sift, in the order of the input."""
