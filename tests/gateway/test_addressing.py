"""Addresses in a gateway's file: what cannot work is a fault with its place and what to write instead."""

from pathlib import Path

import pytest

from trueup.gateway.config import Upstream
from trueup.gateway.settings import read_config
from trueup.store.errors import StoreUnavailable
from trueup.store.open import open_store


def faults(folder: Path, text: str, **environ: str) -> list[str]:
    file = folder / "gateway.yaml"
    file.write_text(text)
    return [str(fault).partition("gateway.yaml:")[2] for fault in read_config(file, environ)[1]]


def of_url(folder: Path, url: str) -> list[str]:
    return faults(folder, f'upstreams:\n  main: {{url: "{url}", private: true}}\n')


@pytest.mark.parametrize(
    ("url", "instead"),
    [
        ("https://models.example/v1/chat/completions", "https://models.example"),
        ("https://models.example/v1/chat/completions/", "https://models.example"),
        ("https://models.example/v1/messages", "https://models.example"),
        ("https://models.example/v1/messages/count_tokens", "https://models.example"),
        ("https://models.example/v1/responses", "https://models.example"),
        ("https://models.example/v1/embeddings", "https://models.example"),
        ("http://127.0.0.1:8000/chat/completions", "http://127.0.0.1:8000"),
        ("https://models.example/proxy/openai/v1/chat/completions", "https://models.example/proxy/openai"),
        ("https://models.example/v1/chat/completions?api-version=1", "https://models.example"),
        ("https://ada:canary@models.example/v1/responses", "https://models.example"),
    ],
)
def test_an_upstream_that_ends_in_an_endpoint_is_a_fault(tmp_path: Path, url: str, instead: str) -> None:
    found = of_url(tmp_path, url)
    said = "url must be the base address of an upstream; this one ends in an endpoint, which the gateway adds itself"
    assert found[0] == f"2:10: N006 {said}. Write {instead}."
    assert "canary" not in str(found)


@pytest.mark.parametrize("end", ["?", "?key=canary", "/v1?a=b", "#top", "/#"])
def test_an_upstream_with_a_query_or_a_fragment_is_a_fault(tmp_path: Path, end: str) -> None:
    found = of_url(tmp_path, f"https://models.example{end}")
    said = "url must be the base address of an upstream, without a query or a fragment"
    assert found == [f"2:10: N006 {said}. Write https://models.example."]


@pytest.mark.parametrize(
    "url",
    ["https://models.example", "https://models.example/v1/", "https://models.example/messages",
     "https://models.example/team/responses", "http://[::1]:8000/v1", "https://models.example/v1beta/openai"],
)  # fmt: skip
def test_a_base_address_is_not_a_fault(tmp_path: Path, url: str) -> None:
    assert of_url(tmp_path, url) == []


@pytest.mark.spec("X25")
@pytest.mark.parametrize(
    "url", ["https://ada:canary@models.example", "htp://ada:canary@models.example", "https://ada:canary@"]
)
def test_a_password_in_an_address_is_never_repeated(tmp_path: Path, url: str) -> None:
    found = of_url(tmp_path, url)
    assert len(found) == 1
    assert "canary" not in found[0]
    assert "canary" not in repr(Upstream("main", url))


def test_a_password_in_an_address_is_removed_from_replies() -> None:
    assert Upstream("main", "https://ada:can%40ary@models.example").secrets == (
        "can%40ary",
        "can@ary",
        "YWRhOmNhbkBhcnk=",
    )


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("mysql://ada:canary@db/x", "mysql:// is not a store; give a path, sqlite:///path or postgresql://host/name"),
        ("redis://:canary@db", "redis:// is not a store; give a path"),
        ("postgresql+psycopg://ada:canary@db/x", "postgresql+psycopg:// is not a store; write postgresql:// alone"),
        ("postgresql://ada:canary@db:port/x", "the address of PostgreSQL cannot be read; give postgresql://user@host"),
        ("postgresql:canary", "the address of PostgreSQL cannot be read"),
        ("sqlite:", "sqlite:: that is not a file"),
        ("sqlite::memory:", "sqlite::memory:: a store is shared by several connections"),
        (":memory:", ":memory:: a store is shared by several connections"),
        ("verdicts/", "verdicts/: that is not a file; give a path such as trueup.db"),
        (".", ".: that is a folder"),
    ],
)  # fmt: skip
def test_an_impossible_store_address_is_a_fault(tmp_path: Path, url: str, said: str) -> None:
    text = "upstreams: {main: {url: 'https://models.example'}}\n"
    for found in (faults(tmp_path, f"{text}store: '{url}'\n"), faults(tmp_path, f"{text}store: $STORE\n", STORE=url)):
        assert len(found) == 1
        assert found[0].startswith(f"2:1: N006 {said}")
        assert "canary" not in found[0]
    with pytest.raises(StoreUnavailable) as refused:
        open_store(url)
    assert "canary" not in str(refused.value)


def test_a_password_of_the_store_belongs_in_the_environment(tmp_path: Path) -> None:
    text = "upstreams: {main: {url: 'https://models.example'}}\nstore: "
    url = "postgresql://trueup:canary@db/trueup"
    (found,) = faults(tmp_path, f"{text}{url}\n")
    assert found.startswith("2:1: N051 the password of the store is in this file. Give `store: $TRUEUP_STORE`")
    assert faults(tmp_path, f"{text}$STORE\n", STORE=url) == []
