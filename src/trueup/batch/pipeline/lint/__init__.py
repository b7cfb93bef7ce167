"""Lint of a pipeline: everything that is wrong with it, before anything runs or costs."""
