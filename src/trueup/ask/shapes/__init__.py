"""Messages in each provider's shape: a neutral form that all messages are read into, and one module for each target."""
