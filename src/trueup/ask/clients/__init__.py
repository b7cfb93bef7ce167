"""Clients: one file for each kind of client, SDK or callable that can be asked."""
