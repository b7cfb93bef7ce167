"""Views of a text without one of its layers, and names for everything around a value."""
