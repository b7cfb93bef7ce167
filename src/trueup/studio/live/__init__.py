"""Live: recent requests, as numbers for the page."""
