"""Text that is not JSON but carries the schema's fields: lines, tables, tags, scalars in words."""
