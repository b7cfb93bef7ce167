"""Asking a model until its reply is valid: a pure plan, its drivers, the texts for the model, and clients for providers."""
