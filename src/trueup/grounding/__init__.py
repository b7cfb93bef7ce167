"""Values of a reply and where a source text says them."""
