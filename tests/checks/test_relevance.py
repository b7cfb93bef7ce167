"""Relevance: which replies are close to their question, which are not judged, and that nothing is downloaded."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from trueup import Contract
from trueup.checks import relevance
from trueup.checks.relevance import is_english, likeness
from trueup.learning.calibration import auc
from trueup.verdict.extras import install

ROOT = Path(__file__).resolve().parents[2]
PAIRS: dict[str, list[list[str]]] = json.loads((ROOT / "bench" / "data" / "questions.json").read_text("utf-8"))
ABOUT = {"question": "What is the capital of Australia?"}


@pytest.mark.spec("Q15")
def test_a_reply_to_another_question_is_off_topic() -> None:
    contract = Contract(relevance=True)
    fine = contract.check("Canberra is the capital city of Australia.", ABOUT)
    assert fine.metrics["relevance"] > 0.5
    assert not fine.findings
    off = contract.check("You can send the shoes back within 30 days if they do not fit.", ABOUT)
    assert [(found.code, found.path, found.level) for found in off.findings] == [("Q009", "$", "warning")]
    assert off.ok
    assert off.metrics["relevance"] == off.findings[0].data["score"] < 0.5
    refusing = Contract(relevance={"below": 0.5, "level": "error"})
    assert not refusing.check("You can send the shoes back within 30 days if they do not fit.", ABOUT).ok


@pytest.mark.spec("Q15")
def test_english_pairs_are_distinguished() -> None:
    scores, same = [], []
    for i, (question, _) in enumerate(PAIRS["English"]):
        for j, (_, reply) in enumerate(PAIRS["English"]):
            scores.append(likeness(question, reply))
            same.append(i == j)
    area = auc(scores, same)
    assert area is not None
    assert area > 0.98


def test_the_question_may_be_in_the_history() -> None:
    history = [{"role": "user", "content": "How long should I boil an egg?"}]
    reply = "Canberra is the capital city of Australia."
    assert Contract(relevance=True).check(reply, {"history": history}).warnings[0].code == "Q009"
    messages = [*history, {"role": "assistant", "content": reply}]
    assert Contract(relevance=True).check(messages).warnings[0].code == "Q009"


@pytest.mark.spec("Q15")
@pytest.mark.parametrize(
    ("question", "reply", "why"),
    [
        ("", "Canberra is the capital city.", "no question"),
        ("Thursday", "Great, that is fine with us.", "too short"),
        ("Could you book it for me?", "Yes.", "too short"),
        *((question, reply, "not English") for question, reply in PAIRS["Spanish"]),
        ("Wie lange soll ich ein Ei kochen?", "Sieben Minuten für ein weiches Ei, zehn für ein hartes.", "not English"),
        ("Combien de temps faut-il cuire un œuf ?", "Sept minutes pour un œuf mollet.", "not English"),
        ("卵は何分茹でればいいですか", "半熟なら七分、固茹でなら十分です", "not English"),
        ("Wat is de hoofdstad van Nederland?", "De hoofdstad is Amsterdam, en dat is waar we zijn.", "not English"),
        ("What is the capital of the country?", "La capital del país es la ciudad de Canberra.", "not English"),
        ("¿Cuál es la capital de Australia?", "You can send the shoes back within 30 days.", "not English"),
        ("Сколько варить яйцо вкрутую?", "Десять минут после закипания воды.", "not English"),
    ],
)
def test_pairs_that_are_not_judged_say_why(question: str, reply: str, why: str) -> None:
    verdict = Contract(relevance=True).check(reply, {"question": question})
    assert verdict.metrics == {"relevance": None, "relevance_abstained": why}
    assert not verdict.findings


def test_english_pairs_are_recognized_as_english() -> None:
    for question, reply in PAIRS["English"]:
        assert is_english([*relevance.words(question), *relevance.words(reply)]), question
    judged = [
        Contract(relevance=True).check(reply, {"question": question}).metrics for question, reply in PAIRS["English"]
    ]
    assert sum(one.get("relevance_abstained") != "not English" for one in judged) >= 0.95 * len(judged)


@given(st.text(max_size=80), st.text(max_size=80))
@example("what is the \ud800 of it", "the end of the \udfff is here")
@example("is is \x00 the", "the " * 3000)
def test_any_text_is_judged_or_not_and_never_raises(question: str, reply: str) -> None:
    verdict = Contract(relevance=True).check(f"the {reply} of", {"question": f"what is {question}"})
    value = verdict.metrics["relevance"]
    assert value is None or 0 <= value <= 1


@pytest.mark.parametrize("language", ["es", "de-DE", "Spanish"])
def test_it_is_refused_in_another_language(language: str) -> None:
    with pytest.raises(ValueError, match="relevance: works for English only"):
        Contract(relevance=True, language=language)
    for own in ("", "en", "en-GB", "English"):
        Contract(relevance=True, language=own)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"below": 2}, "relevance.below: takes a number"),
        ({"level": "x"}, "relevance.level"),
        ({"above": 1}, "relevance.above: unknown option"),
        ("yes", "relevance: takes a table"),
    ],
)
def test_wrong_options_are_refused(options: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Contract(relevance=options)


def test_false_means_no_relevance_check() -> None:
    assert Contract(relevance=False).meaning is None


def test_without_the_extra_a_contract_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    relevance.folder.cache_clear()
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    try:
        with pytest.raises(ModuleNotFoundError, match=re.escape(install("relevance"))):
            Contract(relevance=True)
        (tmp_path / "contract.yaml").write_text("relevance: true\n", "utf-8")
        with pytest.raises(ValueError, match="N021 .*" + re.escape(install("relevance"))):
            Contract.load(tmp_path / "contract.yaml")
    finally:
        relevance.folder.cache_clear()


def test_vectors_that_cannot_be_read_are_reported_when_a_contract_is_made(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("weights/l2_supercat_256.safetensors", "tokenizers/l2_supercat_tokenizer_config.json"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_bytes(b"damaged")
    monkeypatch.setattr(relevance, "folder", lambda: tmp_path)
    with pytest.raises(ValueError, match=r"relevance: the word vectors in .* cannot be read"):
        Contract(relevance=True)


def test_a_missing_library_is_a_fault_of_the_file_without_a_traceback(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    (tmp_path / "contract.yaml").write_text("relevance: true\n", "utf-8")
    relevance.load.cache_clear()
    with pytest.raises(ValueError, match="N021 .*" + re.escape(install("relevance"))):
        Contract.load(tmp_path / "contract.yaml")


@pytest.mark.spec("Q15")
def test_nothing_is_downloaded_and_the_vectors_are_loaded_before_the_first_check() -> None:
    code = """
import socket, sys
def refuse(*given, **more):
    raise AssertionError("a socket")
socket.socket = socket.create_connection = socket.getaddrinfo = refuse
sys.addaudithook(lambda event, given: refuse() if event.startswith(("socket.connect", "socket.getaddrinfo")) else None)
from trueup import Contract
contract = Contract(relevance=True)
def refuse_files(event, given):
    if event == "open":
        raise AssertionError(given)
sys.addaudithook(refuse_files)
context = {"question": "What is the capital of Australia?"}
assert contract.check("Canberra is the capital city of Australia.", context).metrics["relevance"] > 0.5
assert "wordllama" not in sys.modules and "requests" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)
