"""Codes by their code or name, with their pages."""

import pytest

from trueup.contract.codes import ALL, FAMILIES, NoSuchCode, describe, family_of, find_kinds, page_of


def test_every_code_is_found_by_code_and_by_name() -> None:
    for kind in ALL:
        assert find_kinds(kind.code.lower()) == [kind]
        assert kind in find_kinds(f" {kind.name.upper()} ")
        assert family_of(kind) in FAMILIES
        assert page_of(kind).startswith(f"# {kind.code} · {kind.name}\n")
        assert describe(kind)["kind"] in ("fix", "finding")


def test_an_unknown_code_names_similar_ones() -> None:
    with pytest.raises(NoSuchCode) as unknown:
        find_kinds("trailing-coma")
    assert unknown.value.near[0].code == "S001"
    with pytest.raises(NoSuchCode) as nothing:
        find_kinds("~" * 50)
    assert nothing.value.near == []
