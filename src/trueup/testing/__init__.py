"""Public tools for tests: a scripted model server on loopback with the providers' real protocols."""
