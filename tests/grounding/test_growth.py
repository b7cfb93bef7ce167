"""The cost of grounding grows in proportion to the source and the value, for any source and value."""

import json
from collections.abc import Callable

import pytest

from tests.growth import assert_linear
from trueup import Contract

CONTRACT = Contract({"type": "object"}, grounded=True)
VALUE = json.dumps({
    "name": "Ana Ruiz Vega", "total": 1234.5, "date": "2024-03-05", "time": "17:45", "absent": "Nobody at all was there today",
    "few": 7, "many": 99999, "address": "Calle Mayor 12, Madrid", "list": "tea, coffee, milk",
})  # fmt: skip
PIECES = {
    "prose": "On 5 March 2024 at 17:45 Ana Sofía Ruiz paid 1,234.50 EUR in Calle Mayor 12. ",
    "one word": "ana ",
    "parts of a name": "Ruiz Vega, Ana ",
    "digits": "7",
    "numbers": "7 ",
    "chinese": "王小明在2024年3月5日付了三百二十元。",
    "lines": "Ana: 7\n",
    "commas": "tea, ",
    "quotes": '"Nobody at all',
    "marks": "[1] ",
    "dates": "2024-03-05 ",
    "chinese numerals": "三百二十",
    "brackets": "([{",
    "no spaces": "abcdefghij",
    "accents": "é",
    "letters of other scripts": "ağ½ ",
    "sentences": "Ana. ",
    "comma-separated": "7,Ana,8\n",
    "rows of one number": "| 7 | tea | 7 rooms |\n",
}  # fmt: skip


@pytest.mark.growth
@pytest.mark.spec("E7")
@pytest.mark.parametrize("piece", PIECES.values(), ids=PIECES)
def test_a_value_in_a_source_of_any_size(piece: str) -> None:
    def run(source: str) -> object:
        return CONTRACT.check(VALUE, {"source": source})

    assert_linear(run, fresh(piece), 200_000)


@pytest.mark.growth
@pytest.mark.spec("E7")
@pytest.mark.parametrize("piece", PIECES.values(), ids=PIECES)
def test_a_reply_in_prose_of_any_size(piece: str) -> None:
    contract = Contract(grounded=True)

    def run(text: str) -> object:
        return contract.check(text, {"source": "On 5 March 2024 Ana paid 1,234.50 EUR."})

    assert_linear(run, fresh(piece), 100_000)


@pytest.mark.growth
@pytest.mark.spec("E7")
def test_records_of_any_number() -> None:
    contract = Contract({"type": "array"}, grounded=True)

    def make(size: int) -> tuple[str, str]:
        rows = [(f"Person{number} Name{number}", 1000 + number) for number in range(size // 20)]
        return json.dumps([{"name": name, "age": age} for name, age in rows]), "\n".join(
            f"| {name} | {age} |" for name, age in rows
        )

    def run(given: tuple[str, str]) -> object:
        return contract.check(given[0], {"source": given[1]})

    assert_linear(run, make, 20_000)


@pytest.mark.growth
@pytest.mark.spec("E7")
@pytest.mark.parametrize("columns", [False, True], ids=["rows", "columns"])
def test_swapped_values_of_any_number_of_records(columns: bool) -> None:
    contract = Contract({"type": "array"}, grounded=True)

    def make(size: int) -> tuple[str, str]:
        rows = [(f"Person{number} Name{number}", 1000 + number) for number in range(size // 20)]
        lines = zip(*rows, strict=True) if columns else rows
        swapped = [(name, rows[at ^ 1][1] if at ^ 1 < len(rows) else age) for at, (name, age) in enumerate(rows)]
        value = json.dumps([{"name": name, "age": age} for name, age in swapped])
        return value, "\n".join(" | ".join(map(str, line)) for line in lines)

    def run(given: tuple[str, str]) -> object:
        return contract.check(given[0], {"source": given[1]})

    assert_linear(run, make, 20_000)


def fresh(piece: str) -> Callable[[int], str]:
    """Texts of any size, each different from all earlier ones."""
    count = iter(range(10**9))

    def make(size: int) -> str:
        return f"{next(count)} {piece * (size // len(piece))}"

    return make
