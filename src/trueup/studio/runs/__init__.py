"""Runs: sifts and pipelines in the folders of a studio, read as they are now, and the few things that can be done to them."""
