"""Stored verdicts as the page shows them: a table, one in full, labels, a queue."""
