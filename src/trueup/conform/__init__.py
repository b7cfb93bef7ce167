"""Value and schema in; a value that fits, and a note of every change, out."""
