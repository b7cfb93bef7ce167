"""Lint: takes a contract file and returns its faults, each with file, line and column."""
