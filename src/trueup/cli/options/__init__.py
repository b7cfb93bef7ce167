"""Options that several commands share: words from the command line enter, values leave."""
