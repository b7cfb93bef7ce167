"""Reads a reply in any provider's shape into one Reply. The only package that knows provider words."""
