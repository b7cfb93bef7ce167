"""The command line: one file per command; nothing here judges, it only shows."""
