"""Exports valid replies for other tools: fine-tuning files and flat tables."""
