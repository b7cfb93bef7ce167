"""Contract files: read YAML, TOML or JSON with the position of everything, apply `extends`, and check the keys."""
