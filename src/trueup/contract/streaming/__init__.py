"""A reply that is still coming in: what may be shown, what is held back, which faults are certain already."""
