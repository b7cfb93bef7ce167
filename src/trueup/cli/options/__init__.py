"""Options that several commands share. They turn words from the command line into values."""
