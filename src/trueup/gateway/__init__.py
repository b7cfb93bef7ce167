"""The gateway: an OpenAI- and Anthropic-compatible proxy that judges, repairs, regenerates, falls back and charges."""
