"""Requests before they are sent: messages, schemas, and what a hook or a cache changes in them."""
