"""Learned quality: takes labelled replies; returns a model, with an honest comparison to the rules alone."""
