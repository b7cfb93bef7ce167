"""Judging a reply under a contract: the accepted inputs, the fast path, the full path, and one verdict."""
