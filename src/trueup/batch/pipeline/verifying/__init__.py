"""Checks whether a run is complete and valid, and repairs it."""
