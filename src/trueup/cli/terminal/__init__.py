"""The terminal itself: its width, its colours, its keys; tables, bars and cut lines."""
