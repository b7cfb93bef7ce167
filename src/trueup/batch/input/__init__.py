"""Reads the input of a sift: files, folders and tables, cut into ranges, and the unit in each line."""
