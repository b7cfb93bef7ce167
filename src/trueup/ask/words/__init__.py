"""Texts for the model: templates as data, one file per language, and the code that fills them in."""
