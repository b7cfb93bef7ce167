"""Text with the schema's fields in forms other than JSON: lines, tables, tags, lists, scalars. Start at `shapes.readings`."""
