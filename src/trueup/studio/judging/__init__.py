"""The engine for the page: takes texts and returns verdicts, faults, completions and explanations as data for JSON."""
