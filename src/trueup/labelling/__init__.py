"""Labels of people about verdicts: choose replies to show, store the answers, and summarize them."""
