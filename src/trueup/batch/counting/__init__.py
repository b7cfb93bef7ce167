"""What came of units, counted: by stage, code and fix, in groups, and the rates of evidence."""
