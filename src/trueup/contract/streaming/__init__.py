"""A reply that is still arriving: what may be shown, what must wait, and which faults are certain."""
