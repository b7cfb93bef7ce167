"""Whether the values of a reply are in its source."""
