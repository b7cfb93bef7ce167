"""One file per wire protocol: what a model says in, the provider's JSON or stream of events out."""
