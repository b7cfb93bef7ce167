"""The folder of a sift: its manifest, its summary, the growth of its input, and reading it back."""
