"""The folder of a sift: its manifest and its summary, what was added to its input, and reading it back."""
