"""Failed units that are asked about again, and those that never are."""
