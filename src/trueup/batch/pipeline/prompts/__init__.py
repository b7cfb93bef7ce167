"""Prompts out of templates, in a sandbox."""
