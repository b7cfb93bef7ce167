"""Reads stored replies from stores, sifts, runs and JSONL files, as cases that can be judged again."""
