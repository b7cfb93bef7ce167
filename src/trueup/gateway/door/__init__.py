"""Requests on their way in: who asks, which route and contract apply, and what is refused before anything is asked."""
