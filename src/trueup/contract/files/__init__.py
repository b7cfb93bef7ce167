"""Contract files: YAML, TOML or JSON with the place of everything in it, what it extends, what it may say."""
