"""The prose of this project and the rules for it: what people read in a file, and the habits that must not return."""
