"""The shelf: ready checks that a contract uses by name; deterministic, offline, one module per check."""
