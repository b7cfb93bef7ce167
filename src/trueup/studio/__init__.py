"""The studio: a web page for the engine, the store, contracts and runs, with its JSON API."""
