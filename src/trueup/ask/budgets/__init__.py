"""Budgets: estimates of tokens, and what is left for the next call."""
