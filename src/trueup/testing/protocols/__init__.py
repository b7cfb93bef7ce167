"""One file per wire protocol. Each turns a model's reply into the provider's JSON or stream of events."""
