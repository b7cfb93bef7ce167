"""JSON-like text with any faults: values out of it, with the fixes it took and where everything stands."""
