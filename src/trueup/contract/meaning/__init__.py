"""Checks of a contract beyond structure: rules, scores, ready checks, custom checks."""
