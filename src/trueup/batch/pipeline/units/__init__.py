"""The units of a run: made from items, with seeds, and sampled."""
