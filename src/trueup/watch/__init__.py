"""Subscribers to events: logs, metrics and traces, one file each; none sends anything anywhere by itself."""
