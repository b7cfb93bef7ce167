"""The calls of a reply: their arguments, calls that leaked into the text, and the text around them."""
