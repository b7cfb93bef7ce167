"""Engines judge the ranges of a sift in different ways; each gives the same bytes."""
