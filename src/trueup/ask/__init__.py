"""Asking again until the reply is true: a pure plan, its drivers, the words for the model, and clients for providers."""
