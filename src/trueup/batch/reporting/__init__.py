"""The report page of a sift: samples of units, explanations of codes, and evidence."""
