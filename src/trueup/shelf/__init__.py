"""The shelf: ready checks that a contract asks for by name; deterministic, offline, one module per check."""
