"""Writing files: whole or not at all, and what is said when the disk is full."""
