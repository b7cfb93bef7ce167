"""The door of the studio: it checks hosts, keys and rights, and adds security headers."""
