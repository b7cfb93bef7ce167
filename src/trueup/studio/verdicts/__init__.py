"""Stored verdicts for the page: a table, one verdict in full, labels, a queue."""
