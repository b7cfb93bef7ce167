"""The commands: one file each, named as it is typed."""
