"""Reads and writes tables: Parquet, Arrow, CSV and folders of Hugging Face `datasets`."""
