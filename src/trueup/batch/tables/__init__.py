"""Tables in and out of a sift: Parquet, Arrow, CSV and folders of Hugging Face `datasets`."""
