"""Converts an Arrow column of any type into values for JSON.

The conversion of a value depends only on the type of its column, so a column whose type needs no conversion is taken as a whole. Arrow
itself writes points in time, since Python cannot represent nanoseconds.
"""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from trueup.batch.tables.values import Convert, decimal, encoded, moment, number, pairs, plain, seconds

_PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}


def reader(kind: Any) -> Callable[[Any], list[Any]]:
    """The function that converts an array of this type.

    >>> import pyarrow as pa
    >>> kind = pa.list_(pa.date32())
    >>> reader(kind)(pa.array([[0, 1], None], kind))
    [['1970-01-01', '1970-01-02'], None]
    """
    import pyarrow as pa  # type: ignore[import-untyped]

    convert = _convert(kind)
    given = kind
    kind = kind.value_type if pa.types.is_run_end_encoded(kind) else kind
    through = [target for target in (_in_utc(kind), _as_text(kind)) if target != kind]

    def values(array: Any) -> list[Any]:
        array = _decoded(array, given)
        for target in through:
            array = array.cast(target)
        found: list[Any] = array.to_pylist()
        if convert is None:
            return found
        return [None if value is None else convert(value) for value in found]

    return values


def _decoded(array: Any, kind: Any) -> Any:
    """An array with its run-end encoding expanded, if it has any."""
    import pyarrow as pa

    if not pa.types.is_run_end_encoded(kind):
        return array
    import pyarrow.compute as pc  # type: ignore[import-untyped]

    return pc.run_end_decode(array)


def text_reader(kind: Any) -> Callable[[Any], list[Any]] | None:
    """The reader of a binary column with text, a reply or an id; None for other columns."""
    import pyarrow as pa

    inner = _inner(pa, kind)
    if not _is_binary(pa.types, inner):
        return None
    text = pa.large_string() if pa.types.is_large_binary(inner) else pa.string()
    return lambda array: _decoded(array, kind).cast(inner).cast(text).to_pylist()


def _convert(kind: Any) -> Convert | None:
    """The conversion of a value from `to_pylist`; None if it needs none."""
    import pyarrow as pa

    of = pa.types
    kind = _inner(pa, kind)
    if of.is_floating(kind):
        return number
    if of.is_decimal(kind):
        return decimal
    if of.is_timestamp(kind) and kind.tz is not None:
        return lambda text: moment(f"{text}Z")
    if of.is_timestamp(kind) or of.is_time(kind) or of.is_date(kind):
        return moment
    if of.is_duration(kind):
        per = _PER_SECOND[kind.unit]
        return lambda count: seconds(count, per)
    if _is_binary(of, kind):
        return encoded
    if isinstance(kind, pa.UuidType):
        return lambda value: str(UUID(bytes=value) if isinstance(value, bytes) else value)
    if of.is_nested(kind):
        return _nested(pa, kind)
    return None if _is_simple(of, kind) else plain


def _nested(pa: Any, kind: Any) -> Convert | None:
    if pa.types.is_struct(kind):
        fields = {field.name: convert for field in kind if (convert := _convert(field.type))}
        return _struct(fields) if fields else None
    if pa.types.is_map(kind):
        key, item = _convert(kind.key_type) or _same, _convert(kind.item_type) or _same
        return lambda found: pairs([(_given(key, one), _given(item, other)) for one, other in found])
    if hasattr(kind, "value_type"):
        convert = _convert(kind.value_type)
        return None if convert is None else lambda items: [_given(convert, item) for item in items]
    return plain  # a union


def _struct(fields: dict[str, Convert]) -> Convert:
    def convert(value: dict[str, Any]) -> dict[str, Any]:
        return {name: _given(fields[name], item) if name in fields else item for name, item in value.items()}

    return convert


def _given(convert: Convert, value: Any) -> Any:
    return None if value is None else convert(value)


def _same(value: Any) -> Any:
    return value


def _inner(pa: Any, kind: Any) -> Any:
    """The type of the values of a dictionary, of runs, or of an extension."""
    while True:
        if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
            kind = kind.value_type
        elif isinstance(kind, pa.BaseExtensionType) and not isinstance(kind, pa.UuidType):
            kind = kind.storage_type
        else:
            return kind


def _mapped(pa: Any, kind: Any, leaf: Callable[[Any], Any]) -> Any:
    """A type with other leaves and the same shape."""
    of = pa.types
    inner = _inner(pa, kind)
    if inner is not kind:
        mapped = _mapped(pa, inner, leaf)
        return kind if mapped == inner else mapped
    if of.is_struct(kind):
        return pa.struct([field.with_type(_mapped(pa, field.type, leaf)) for field in kind])
    if of.is_map(kind):
        return pa.map_(_mapped(pa, kind.key_type, leaf), _mapped(pa, kind.item_type, leaf))
    if of.is_fixed_size_list(kind):
        return pa.list_(_mapped(pa, kind.value_type, leaf), kind.list_size)
    if of.is_large_list(kind) or of.is_large_list_view(kind):
        return pa.large_list(_mapped(pa, kind.value_type, leaf))
    if of.is_list(kind) or of.is_list_view(kind):
        return pa.list_(_mapped(pa, kind.value_type, leaf))
    return leaf(kind)


def _in_utc(kind: Any) -> Any:
    import pyarrow as pa

    def leaf(kind: Any) -> Any:
        zoned = pa.types.is_timestamp(kind) and kind.tz is not None
        return pa.timestamp(kind.unit) if zoned else kind  # with a time zone, Arrow writes any year, even a wrong one

    return _mapped(pa, kind, leaf)


def _as_text(kind: Any) -> Any:
    import pyarrow as pa

    def leaf(kind: Any) -> Any:
        if pa.types.is_duration(kind):
            return pa.int64()
        return pa.string() if pa.types.is_temporal(kind) and not pa.types.is_interval(kind) else kind

    return _mapped(pa, kind, leaf)


def _is_binary(of: Any, kind: Any) -> bool:
    return bool(
        of.is_binary(kind) or of.is_large_binary(kind) or of.is_fixed_size_binary(kind) or of.is_binary_view(kind)
    )


def _is_simple(of: Any, kind: Any) -> bool:
    texts = of.is_string(kind) or of.is_large_string(kind) or of.is_string_view(kind)
    return bool(texts or of.is_integer(kind) or of.is_boolean(kind) or of.is_null(kind))
