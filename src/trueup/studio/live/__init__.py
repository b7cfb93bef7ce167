"""Live: how requests went lately, as numbers for the page."""
