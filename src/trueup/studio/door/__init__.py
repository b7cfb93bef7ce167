"""The door of the studio: which hosts, which keys, which rights, which headers."""
