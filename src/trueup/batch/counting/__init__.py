"""Counts results of units: by stage, code and fix, in groups, and the rates of evidence."""
