"""Public tools for tests: a scripted model server on loopback that speaks the providers' real protocols."""
