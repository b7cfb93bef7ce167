"""Asks providers: recorded replies, the bundled model, and providers by address. Each has its own file."""
