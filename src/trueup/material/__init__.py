"""Stored replies as cases: stores, sifts, runs and JSONL files enter; replies that can be judged again leave."""
