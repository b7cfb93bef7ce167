"""Text that is not JSON but carries the schema's fields: lines, tables, tags, lists, scalars. `shapes.readings` is the way in."""
