"""Learned quality: labelled replies enter; a model leaves, with an honest account of what it is worth beside the rules."""
