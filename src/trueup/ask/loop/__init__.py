"""One ask, decided: the plan, the loop around it, and the record of its attempts."""
