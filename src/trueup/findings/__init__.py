"""One page per code of the catalogue: documentation and test at once."""
