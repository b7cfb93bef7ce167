"""The terminal screen over runs: which there are, how each goes, and every unit of them."""
