"""What a contract asks beyond structure: rules, scores, ready checks, custom ones."""
