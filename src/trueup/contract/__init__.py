"""Contracts: they define a valid reply, and here the steps from text to verdict are combined."""
