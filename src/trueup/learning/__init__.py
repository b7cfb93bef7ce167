"""Training the scorer of quality from labels, and measuring whether it beats the rules."""
