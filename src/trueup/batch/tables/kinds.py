"""Kinds of files of replies: lines, or tables of one kind or another, by their first bytes or the end of their name."""

ENDINGS = {
    ".jsonl": "", ".ndjson": "", ".parquet": "parquet", ".pq": "parquet", ".arrow": "arrow", ".arrows": "arrow",
    ".feather": "arrow", ".ipc": "arrow", ".csv": "csv", ".tsv": "csv", ".tab": "csv",
}  # fmt: skip
PACKED = (".gz", ".zst")
PARQUET = b"PAR1"
ARROW = b"ARROW1"
STREAM = b"\xff\xff\xff\xff"  # a message of Arrow


def kind_of(name: str, head: bytes) -> str:
    """What kind of table a file is: parquet, arrow or csv; "" for lines.

    >>> (
    ...     kind_of("replies.parquet", b""),
    ...     kind_of("replies", b"PAR1"),
    ...     kind_of("replies.csv.gz", b""),
    ...     kind_of("-", b"{}"),
    ... )
    ('parquet', 'parquet', 'csv', '')
    """
    if head.startswith(PARQUET):
        return "parquet"
    if head.startswith((ARROW, STREAM)):
        return "arrow"
    return ENDINGS.get(ending(name), "")


def ending(name: str) -> str:
    """The end of a name that says what is in the file, whatever packs it."""
    name = name.lower()
    for packed in PACKED:
        name = name.removesuffix(packed)
    return name[name.rfind(".") :] if "." in name else ""
