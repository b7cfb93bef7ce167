"""Two contracts over stored replies: what flips, why, and what it would cost."""
