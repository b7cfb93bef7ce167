"""The studio: a web page over the engine, the store, contracts and runs, and the JSON API behind it."""
