"""The run directory: its files, its journal, its lock, and the state that follows from them."""
