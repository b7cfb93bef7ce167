"""Views of a text with something taken off, and names for whatever stands around a value."""
