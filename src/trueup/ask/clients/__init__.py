"""Clients: one file per kind of thing that can be asked."""
