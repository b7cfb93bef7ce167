"""Words for the model: templates as data, one file per language, and what fills them in."""
