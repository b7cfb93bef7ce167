"""The parts of a run with tools: its turns, and the calls of one turn."""
