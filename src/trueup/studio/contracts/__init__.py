"""Contracts of the studio: the files, saving one, and what the store knows of each."""
