"""Requests on their way in: who is asking, which route and contract apply, and what is refused before a model is asked."""
