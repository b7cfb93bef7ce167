"""The commands: one file for each, with the name that users type."""
