"""Looking into a run: its units page by page, and one unit in full. The screens and the studio show what is read here."""
