"""The calls of a reply: their arguments, those that leaked into the text, and what is said beside them."""
