"""What a call may still cost: estimates of tokens, and what is left of the budgets."""
