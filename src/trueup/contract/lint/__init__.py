"""Lint: a contract file enters, everything that is wrong with it leaves, each with file, line and column."""
