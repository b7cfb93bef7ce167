"""Whether a run is complete and valid, and how it is put right."""
