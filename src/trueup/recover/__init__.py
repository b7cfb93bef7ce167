"""Text in, candidate values out, each with the fixes it took. Nothing here knows a provider or a contract."""
