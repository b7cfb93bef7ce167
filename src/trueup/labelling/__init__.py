"""What people say about verdicts: which replies to show them, and what their answers are worth."""
