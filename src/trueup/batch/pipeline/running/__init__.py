"""Runs a pipeline, from opening the run to its end."""
