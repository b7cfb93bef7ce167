"""Runs: sifts and pipelines in the folders of a studio, read in their current state, and actions on them."""
