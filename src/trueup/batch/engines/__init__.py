"""Engines: ways to have the ranges of a sift judged; each gives the same bytes."""
