"""Whom a pipeline asks: recorded replies, the bundled model, providers by their addresses; one file each."""
