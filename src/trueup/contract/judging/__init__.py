"""The way of a reply through a contract: what may be given, the fast path, the full one, one verdict."""
