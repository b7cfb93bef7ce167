"""Finds the faults of a pipeline before it runs and costs anything."""
