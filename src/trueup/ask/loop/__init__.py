"""One ask: the plan with its decisions, the loop that carries it out, and the record of its attempts."""
