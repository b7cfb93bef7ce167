"""Grounding: whether the values of a reply stand in its sources."""
