"""Renders prompts from templates, in a sandbox."""
