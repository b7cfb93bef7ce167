"""The page about a sift, and what it shows of codes and evidence."""
