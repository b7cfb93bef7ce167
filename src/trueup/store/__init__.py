"""Verdicts, replies, feedback and quota in SQLite or PostgreSQL. Packages below this one do no I/O."""
