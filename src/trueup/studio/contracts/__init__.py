"""Contracts in the studio: their files, saving, and the store's figures."""
