"""JSON-like text with any faults: its values, the fixes that reading them took, and where everything is."""
