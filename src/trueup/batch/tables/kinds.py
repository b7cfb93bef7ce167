"""Recognizes the kind of a file of replies, lines or a kind of table, by its first bytes or its ending."""

ENDINGS = {
    ".jsonl": "", ".ndjson": "", ".parquet": "parquet", ".pq": "parquet", ".arrow": "arrow", ".arrows": "arrow",
    ".feather": "arrow", ".ipc": "arrow", ".csv": "csv", ".tsv": "csv", ".tab": "csv",
}  # fmt: skip
PACKED = (".gz", ".zst")
PARQUET = b"PAR1"
ARROW = b"ARROW1"
STREAM = b"\xff\xff\xff\xff"  # a message of Arrow


def kind_of(name: str, head: bytes) -> str:
    """The kind of table in a file: parquet, arrow or csv; "" for lines.

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
    """The ending of a name that says what is in the file, without a compression's ending."""
    name = name.lower()
    for packed in PACKED:
        name = name.removesuffix(packed)
    return name[name.rfind(".") :] if "." in name else ""
