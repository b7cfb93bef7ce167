"""The vocabulary of every other room; it imports no other room."""
