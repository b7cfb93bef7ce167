"""What is sifted: files, folders and tables, cut into ranges, and the unit in each line."""
