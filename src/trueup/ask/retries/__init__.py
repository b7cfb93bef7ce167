"""What a failed call means: which errors are tried again, how long to wait, when to ask another."""
