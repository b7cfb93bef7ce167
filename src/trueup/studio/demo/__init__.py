"""The demo: sample replies to try, and sample traffic of the example contracts."""
