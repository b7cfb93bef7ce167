"""The parts of a comparison: one side read, two sides joined by id, two values told apart."""
