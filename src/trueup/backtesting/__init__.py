"""Judge stored replies under two contracts: what flips, why, and what it would cost."""
