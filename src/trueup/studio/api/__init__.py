"""The JSON API of the studio: one module per page, each a table of endpoints."""
