"""Tuning a contract with labels: measure how good its rules are, and suggest improvements."""
