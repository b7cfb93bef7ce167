"""Requests before they are sent: their messages and schemas, and how hooks and caches change them."""
