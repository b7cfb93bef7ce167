"""Writes files whole or not at all, and reports a full disk."""
