"""The terminal screens for runs: a list, the state of each, and all of their units."""
