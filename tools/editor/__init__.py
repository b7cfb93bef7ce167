"""The JSON Schemas of pipeline and gateway files, which editors use: derived from the code that reads these files.

`make snapshots` writes them into the package. Tests compare them with the keys that the code accepts.
"""
