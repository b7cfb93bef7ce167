"""Statistics on counts: intervals, tests and agreement rates, without dependencies."""
