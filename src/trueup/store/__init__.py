"""Verdicts, replies, feedback and quota, kept in SQLite or PostgreSQL; nothing below this room does I/O."""
