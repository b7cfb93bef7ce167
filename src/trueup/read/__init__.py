"""A provider's shape in, one Reply out. The only room that knows provider words."""
