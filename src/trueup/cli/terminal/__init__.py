"""The terminal: its width, colours and keys; tables, bars and cut lines."""
