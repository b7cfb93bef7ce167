"""The vocabulary every other room speaks; it imports nothing of ours."""
