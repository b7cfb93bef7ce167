"""Requests that no contract judges: replies and other endpoints that are passed through, with fallbacks and quota."""
