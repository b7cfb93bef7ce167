"""Progress displays on standard error."""
