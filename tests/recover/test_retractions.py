"""Words around values, in several languages: retractions, words that only sound like one, and which of two values is outdated."""

import tomllib
from pathlib import Path

import pytest

from trueup import Contract
from trueup.recover.words import tables

AGE = {
    "type": "object",
    "properties": {"age": {"type": "integer"}},
    "required": ["age"],
    "additionalProperties": False,
}
TAKEN_BACK = [
    "Wait, that's wrong. The age is 37.",
    "No wait, I miscounted. It's 37.",
    "Sorry, I misread the table. It says 37.",
    "Sorry, I meant 37.",
    "Hmm, that’s not right. He is 37.",
    "My mistake: the age should be 37.",
    "Actually, scratch that — he is 37.",
    "Hold on, I need to recheck the dates.",
    "Please ignore the above, he is 37.",
    "Disregard the JSON above.",
    "Oops, the age should be 37, not 36.",
    "**Correction:** he is 37. I misread the date.",
    "Korrektur: Das Alter ist 37. Ich hatte das Datum verwechselt.",
    "Moment, das ist falsch. Er ist 37.",
    "Entschuldigung, da ist mir ein Fehler unterlaufen: Er ist 37.",
    "Pardon, je me suis trompé : il a 37 ans.",
    "Attendez, c'est incorrect. Il a 37 ans.",
    "Erratum : il a 37 ans.",
    "Espera, me equivoqué: tiene 37.",
    "Perdón, el valor correcto es 37.",
    "Corrección: tiene 37 años.",
    "Scusa, mi sono sbagliato: ha 37 anni.",
    "Desculpe, cometi um erro: são 37.",
    "等等，我弄错了，应为 37。",
    "抱歉，上面的结果有误，正确答案如下：",
    "更正：37。",
    "訂正：37歳です。",
    "すみません、間違えました。37歳です。",
    "Sorry, ich habe mich verrechnet: Er ist 37.",
    "Wait, that is clearly wrong. He is 37.",
]
STANDS = [
    "Oops, I forgot to mention: the date was not legible.",
    "Oops, almost forgot: have a nice day!",
    "Sorry for the wait! Let me know if you need more.",
    "Thanks for your patience during the wait. Let me know!",
    "The customer said the bill was wrong.",
    "Corrected fields: age.",
    "Correction: fixed the spelling of the key.",
    "I corrected two typos in the name.",
    "Correct me if I'm wrong.",
    "Is this correct?",
    "Sorry, I misread your first message.",
    "Sorry about the earlier mistake! This one should be fine.",
    "Actually, that should be all.",
    "Actually, he is quite old for a player.",
    "Wait, do you also want the unit?",
    "Please ignore the note above if you know him.",
    "Please disregard my earlier message.",
    "No errors were found.",
    "My apologies for the confusion earlier.",
    "No, this is not a mistake: he really is that old.",
    "Hmm, that should be everything.",
    "Sorry, the date was incorrect in the source, so I left it out.",
    "Correction: none.",
    "Errata: none.",
    "Entschuldigung, ich habe den Fehler korrigiert.",
    "Moment, hier ist kein Fehler zu sehen.",
    "抱歉，之前的结果有误。",
    "以上信息如有错误，请指正。",
    "すみません、間違いがあれば教えてください。",
    "Falls etwas falsch ist, sag Bescheid.",
    "Ich habe den Fehler korrigiert.",
    "Korrigiert: Tippfehler im Namen.",
    "Moment, ich kann auch eine Tabelle daraus machen.",
    "N'hésitez pas à signaler toute erreur.",
    "Pardon pour l'attente !",
    "He corregido el error anterior.",
    "Perdón por la espera.",
    "如有错误，请告诉我。",
    "以上是结果。如有错误，请告诉我。",
    "以上です。",
]


@pytest.mark.parametrize("schema", [AGE, True])
@pytest.mark.parametrize("form", ['{"age": 36}', '```json\n{\n  "age": 36\n}\n```', "{'age': 36}"])
@pytest.mark.parametrize("words", TAKEN_BACK)
def test_a_retracted_value_is_refused(schema: object, form: str, words: str) -> None:
    contract = Contract(schema)
    for between in ("\n\n", "\n"):
        verdict = contract.check(f"{form}{between}{words}")
        assert not verdict.ok
        assert "W018" in {fix.code for fix in verdict.fixes}


@pytest.mark.parametrize("words", STANDS)
def test_words_that_only_sound_like_a_retraction_change_nothing(words: str) -> None:
    verdict = Contract(AGE).check(f'{{"age": 36}}\n\n{words}')
    assert verdict.ok, verdict.findings
    assert verdict.data == {"age": 36}
    assert {fix.code for fix in verdict.fixes} == {"W002"}


@pytest.mark.parametrize("words", TAKEN_BACK)
def test_the_value_after_a_retraction_replaces_the_first(words: str) -> None:
    verdict = Contract(AGE).check(f'{{"age": 36}}\n\n{words}\n\n{{"age": "37"}}')
    assert verdict.data == {"age": 37}


CASES: dict[str, dict[str, list[str]]] = tomllib.loads(
    (Path(__file__).parent / "cases" / "retractions.toml").read_text("utf-8")
)


def cases(kind: str) -> pytest.MarkDecorator:
    rows = [pytest.param(words, id=f"{lang}: {words}") for lang, table in CASES.items() for words in table[kind]]
    return pytest.mark.parametrize("words", rows)


def test_every_language_has_its_cases() -> None:
    assert set(CASES) == set(tables())
    assert all(len(table["taken_back"]) + len(table["stands"]) >= 25 for table in CASES.values())
    assert all(len(table["old"]) + len(table["current"]) >= 20 for table in CASES.values())


@cases("taken_back")
def test_a_value_is_retracted_in_any_language(words: str) -> None:
    for form in ('{"age": 36}', "```json\n{'age': 36}\n```"):
        verdict = Contract(AGE).check(f"{form}\n\n{words}")
        assert not verdict.ok
        assert "W018" in {fix.code for fix in verdict.fixes}


@cases("stands")
def test_a_remark_retracts_nothing_in_any_language(words: str) -> None:
    for form in ('{"age": 36}', "```json\n{'age': 36}\n```"):
        verdict = Contract(AGE).check(f"{form}\n\n{words}")
        assert verdict.ok, verdict.findings
        assert verdict.data == {"age": 36}
        assert "W018" not in {fix.code for fix in verdict.fixes}


@pytest.mark.parametrize(
    "words",
    [
        "Update: the age field is now 37.",
        "Actualización: el campo age ahora es 37.",
        "Aktualisierung: age ist jetzt 37.",
        "Aktualisiert: age wurde auf 37 geändert.",
        "Mise à jour : age vaut désormais 37.",
        "Aggiornamento: age è ora 37.",
        "Atualização: age agora é 37.",
        "更新：age 改为 37。",
        "更新：age は 37 に変更しました。",
    ],
)
def test_a_member_is_given_again_in_any_language(words: str) -> None:
    verdict = Contract(AGE).check(f'{{"age": 36}}\n\n{words}')
    assert not verdict.ok
    assert "W018" in {fix.code for fix in verdict.fixes}
    assert Contract(AGE).check(f'{{"age": 37}}\n\n{words}').ok


@pytest.mark.parametrize(
    "words",
    ["Por ejemplo: ", "Zum Beispiel: ", "Par exemple : ", "Ad esempio: ", "Por exemplo: ", "例如：", "例えば："],
)
def test_an_example_is_called_one_in_any_language(words: str) -> None:
    verdict = Contract(AGE).check(f'{words}{{"age": 36}}')
    assert "W017" in {fix.code for fix in verdict.fixes}
    assert Contract(AGE).check(f'{words}{{"age": 36}}\n\nX: {{"age": 37}}').data == {"age": 37}


FENCE = "```json\n{}\n```"


@pytest.mark.parametrize("form", ["{}", FENCE])
@pytest.mark.parametrize(
    "words",
    [
        "❌ Incorrect:\n",
        "For reference, the original was:\n",
        "**Original:**\n",
        "Previous version:\n",
        "Previously:\n",
        "Before:\n",
        "Input:\n",
        "(Not to be confused with ",
        "This replaces the old value ",
        "Do not use the following, it is outdated: ",
        "Zum Vergleich das Original:\n",
        "It follows your template ",
        "If you prefer months: ",
        "修改前：\n",
    ],
)
def test_a_replaced_value_is_not_chosen(form: str, words: str) -> None:
    for schema in (AGE, True):
        new, old = form.replace("{}", '{"age": 37}'), form.replace("{}", '{"age": 36}')
        assert Contract(schema).check(f"Updated:\n{new}\n\n{words}{old}").data == {"age": 37}
        assert Contract(schema).check(f"{words}{old}\n\nUpdated:\n{new}").data == {"age": 37}


def test_a_value_that_words_reject_is_not_the_answer() -> None:
    assert Contract(AGE).check('The answer is {"age": 37}, not {"age": 36}.').data == {"age": 37}
    assert Contract(AGE).check('{"age": 37} (and not {"age": 36})').unwrap() == {"age": 37}


def test_the_users_next_words_are_not_the_answer() -> None:
    assert Contract(AGE).check('{"age": 37}\nUser: and {"age": 36}?').data == {"age": 37}


def test_a_value_after_that_was_wrong_is_the_new_one() -> None:
    assert Contract(AGE).check('{"age": 36} Sorry, that was wrong: {"age": 37}').data == {"age": 37}


@cases("old")
def test_a_value_that_words_reject_is_not_the_answer_in_any_language(words: str) -> None:
    for between in ("\n\n", " "):
        assert Contract(AGE).check('{"age": 36}' + between + words.replace("{}", '{"age": 37}')).data == {"age": 36}


@cases("current")
def test_after_other_words_the_last_value_is_the_answer_in_any_language(words: str) -> None:
    assert Contract(AGE).check('{"age": 36}\n\n' + words.replace("{}", '{"age": 37}')).data == {"age": 37}
