"""The engine as the page sees it: texts enter, verdicts, faults, completions and explanations leave as data for JSON."""
