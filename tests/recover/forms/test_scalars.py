"""Scalars in plain words: one number or truth word in a sentence; refusals, errors and doubts are not answers."""

from typing import Any

import pytest

from tests.recover.forms.cases import checked

SCALARS: list[tuple[str, dict[str, Any], str, Any]] = [
    ("fenced text", {"type": "string"}, "```\nHello\n```", "Hello"),
    ("fenced code", {"type": "string"}, "```python\nx = 1\n\ny = 2\n```\n", "x = 1\n\ny = 2"),
    ("answer tag", {"type": "string"}, "<answer>Hello</answer>", "Hello"),
    ("special token", {"type": "string"}, "Hello<|im_end|>", "Hello"),
    ("fenced enum", {"enum": ["LOW", "HIGH"]}, "```\nhigh\n```", "HIGH"),
    ("yes", {"type": "boolean"}, "Yes, it is.", True),
    ("no", {"type": "boolean"}, "No, it isn't.", False),
    ("false", {"type": "boolean"}, "The statement is false.", False),
    ("true", {"type": "boolean"}, "This is **true**.", True),
    ("the answer is", {"type": "boolean"}, "The answer is: no.", False),
    ("in bold", {"type": "boolean"}, "**Yes**", True),
    ("sí", {"type": "boolean"}, "Sí, lo es.", True),
    ("falsch", {"type": "boolean"}, "Die Aussage ist falsch.", False),
    ("是", {"type": "boolean"}, "是的，这是对的。", True),
    ("number", {"type": "integer"}, "The answer is **42**.", 42),
    ("twice the same", {"type": "integer"}, "It is 42, yes, 42.", 42),
    ("minus", {"type": "number"}, "Temperature: −5 °C", -5),
    ("hyphen minus", {"type": "number"}, "It was -5.5 degrees", -5.5),
    ("thousands", {"type": "integer"}, "There are 1,036 of them.", 1036),
    ("percent", {"type": "number"}, "about 45 % of all", 45),
    ("spanish", {"type": "integer"}, "La respuesta es 42.", 42),
]  # fmt: skip

REFUSED: list[tuple[str, dict[str, Any], str, dict[str, Any]]] = [
    ("scale", {"type": "number"}, "about 3 million", {"coerce": "eager"}),
    ("scale k", {"type": "number"}, "roughly 5k", {"coerce": "eager"}),
    ("scale 万", {"type": "number"}, "大约 3 万", {"coerce": "eager"}),
    ("Millionen", {"type": "number"}, "etwa 3 Millionen", {"coerce": "eager"}),
    ("error code", {"type": "number"}, "I can't answer; see error 404.", {"coerce": "eager"}),
    ("status", {"type": "integer"}, "The server said HTTP 500 again", {"coerce": "eager"}),
    ("apology", {"type": "integer"}, "Sorry, I only found 3 sources.", {"coerce": "eager"}),
    ("two numbers", {"type": "integer"}, "Between 3 and 5.", {"coerce": "eager"}),
    ("step", {"type": "integer"}, "1. Add the numbers", {"coerce": "eager"}),
    ("denied", {"type": "integer"}, "It is not 42.", {"coerce": "eager"}),
    ("not eager", {"type": "integer"}, "The answer is 42.", {}),
    ("not true", {"type": "boolean"}, "It is not true.", {"coerce": "eager"}),
    ("both", {"type": "boolean"}, "True or false?", {"coerce": "eager"}),
    ("unsure", {"type": "boolean"}, "I am unsure whether it is true", {"coerce": "eager"}),
    ("yes but", {"type": "boolean"}, "Yes, but that is not right.", {"coerce": "eager"}),
    ("cannot say", {"type": "boolean"}, "I cannot say yes", {"coerce": "eager"}),
    ("no problem", {"type": "boolean"}, "No problem at all", {"coerce": "eager"}),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "reply", "expected"), [row[1:] for row in SCALARS], ids=[row[0] for row in SCALARS])
def test_a_scalar_in_a_sentence_is_read(schema: Any, reply: str, expected: Any) -> None:
    verdict = checked(schema, reply, coerce="eager")
    assert verdict.ok, [str(found) for found in verdict.findings]
    assert verdict.data == expected
    assert type(verdict.data) in (type(expected), int)


@pytest.mark.parametrize(("schema", "reply", "options"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_text_that_is_not_an_answer_is_refused(schema: Any, reply: str, options: dict[str, Any]) -> None:
    assert not checked(schema, reply, **options).ok


VERDICTS: dict[str, bool] = {
    "False. 2 + 2 is 4, not 5.": False,
    "False, 2 + 2 is 4, not 5.": False,
    "**False.** The sum isn't 5.": False,
    "False\n\nThe sum is not 5.": False,
    "Answer: False. The sum is not 5.": False,
    "False. You cannot divide by zero.": False,
    "False because the sum is not 5": False,
    "True. The sum is not 5.": True,
    "Yes. It never rains there.": True,
    "No - it would be 5 if you added one.": False,
    "No, it isn't." + " The sum was checked again and again." * 20: False,
    "It is not 5, so the answer is no.": False,
    "Falso. Son 4, no 5.": False,
    "Sí. No llueve nunca.": True,
    "No, porque son 4.": False,
    "Falsch. Es sind 4, nicht 5.": False,
    "Ja. Es sind nicht 5.": True,
    "Die Antwort lautet nein.": False,
    "Faux. C'est 4, pas 5.": False,
    "Oui. Ce n'est pas 5.": True,
    "Non, car c'est 4.": False,
    "Falso. È 4, non 5.": False,
    "Sì. Non è 5.": True,
    "Vero, perché la somma è 4.": True,
    "Falso. São 4, não 5.": False,
    "Sim. Não são 5.": True,
    "Não, pois são 4.": False,
    "错误。结果是4，不是5。": False,
    "是的。结果不是5。": True,
    "不是，结果是4。": False,
    "いいえ。5ではありません。": False,
    "はい。5ではありません。": True,
    "誤りです。5ではなく4です。": False,
    "False — 91 is 7 times 13, so it is not true that it is prime.": False,
    "It is true that 5 is prime.": True,
    "This is a true statement.": True,
    "I think the claim is false, since 9 is 3 * 3.": False,
    "Es ist wahr, dass 5 prim ist.": True,
    "Es cierto que 5 es primo.": True,
    "C'est vrai que 5 est premier.": True,
    "È vero che 5 è primo.": True,
    "É verdade que 5 é primo.": True,
}
NO_VERDICTS = [
    "False friends are words that look alike.",
    "There are many false friends in German.",
    "True love is rare.",
    "Una falsa alarma no es nada.",
    "Ein wahr gewordener Traum.",
    "Une fausse note gâche tout.",
    "Un falso amico inganna.",
    "Uma falsa pista engana.",
    "False. It is true that 9 is odd.",
    "Yes, but it is not that simple.",
    "True, if you count them twice.",
    "True. It depends on the year.",
    "False. It is true that 4 is even.",
    "No. I cannot help with that.",
    "No, lo siento, no puedo.",
    "Nein, das kann ich leider nicht beantworten.",
    "Maybe.",
    "It is not that the claim is false.",
    "It is unclear if the answer is yes.",
    "The answer is no, not yes.",
    "True or false? Not sure.",
    "也许是。",
    "はいかもしれません。",
]


@pytest.mark.parametrize(("reply", "expected"), VERDICTS.items(), ids=[reply[:50] for reply in VERDICTS])
def test_a_leading_answer_counts_whatever_its_explanation_denies(reply: str, expected: bool) -> None:
    verdict = checked({"type": "boolean"}, reply, coerce="eager")
    assert verdict.ok, [str(found) for found in verdict.findings]
    assert verdict.data is expected
    assert not checked({"type": "boolean"}, reply).ok


@pytest.mark.parametrize("reply", NO_VERDICTS)
def test_an_answer_that_is_doubted_or_refused_is_not_read(reply: str) -> None:
    assert not checked({"type": "boolean"}, reply, coerce="eager").ok


@pytest.mark.parametrize(
    "reply",
    [
        "It is 42, not 43.",
        "Not 43 but 42.",
        "Es sind 42, nicht 43.",
        "Son 42, no 43.",
        "È 42, non 43.",
        "是42，不是43。",
    ],
)
def test_a_number_that_is_denied_is_not_the_answer(reply: str) -> None:
    verdict = checked({"type": "integer"}, reply, coerce="eager")
    assert verdict.data == 42


BOUNDS = {
    "en": ["It is more than 40.", "Fewer than 40.", "At least 40.", "40 or more.", "40 people at most", "It is over 40.", "40+", ">40 items"],
    "de": ["Mehr als 40.", "Mindestens 40.", "Es sind über 40.", "40 oder mehr.", "Knapp 40.", "Höchstens 40."],
    "es": ["Más de 40.", "Al menos 40.", "Como máximo 40.", "40 o más.", "Casi 40.", "40 años como mínimo."],
    "fr": ["Plus de 40.", "Au moins 40.", "Moins de 40.", "40 ou plus.", "Près de 40.", "40 personnes au maximum."],
    "it": ["Più di 40.", "Almeno 40.", "Meno di 40.", "40 o più.", "Quasi 40.", "Oltre 40."],
    "pt": ["Mais de 40.", "Pelo menos 40.", "Menos de 40.", "40 ou mais.", "Quase 40.", "No máximo 40."],
    "zh": ["超过40。", "至少40。", "不到40人。", "40以上。", "少于40。", "40岁以下。"],
    "ja": ["40以上です。", "40人未満です。", "少なくとも40です。", "40を超えます。", "40より多いです。", "最大40です。"],
}  # fmt: skip
NO_DATA = [
    "As of 2023 I have no data.",
    "No figures were found for 2023.",
    "The number is not known for 2023.",
    "Stand 2023 habe ich keine Daten.",
    "Für 2023 gibt es keine Angaben.",
    "A fecha de 2023 no hay datos.",
    "En 2023 no tengo información.",
    "Pour 2023, je n'ai pas de données.",
    "Aucune donnée pour 2023.",
    "Per il 2023 non ho dati.",
    "Para 2023 não tenho dados.",
    "截至2023年没有数据。",
    "2023年のデータはありません。",
]
NUMBERS = {
    "about 42": 42,
    "The total is 42, which is more than expected.": 42,
    "There are no records, so the count is 0.": 0,
    "It is 42; the unit is unknown.": 42,
    "Es sind 42, mehr als gedacht.": 42,
    "Son 42, más de lo esperado.": 42,
    "Il y en a 42, plus que prévu.": 42,
    "Sono 42, più del previsto.": 42,
    "São 42, mais do que o esperado.": 42,
    "答案是42。": 42,
    "42歳です。": 42,
}


@pytest.mark.parametrize("reply", [*(reply for replies in BOUNDS.values() for reply in replies), *NO_DATA])
def test_a_limit_or_a_year_is_not_the_answer(reply: str) -> None:
    assert not checked({"type": "integer"}, reply, coerce="eager").ok


@pytest.mark.parametrize(("reply", "expected"), NUMBERS.items())
def test_a_number_with_a_remark_is_the_number(reply: str, expected: int) -> None:
    assert checked({"type": "integer"}, reply, coerce="eager").data == expected


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("high is not right", None),
        ("high isn't right", None),
        ("high ist nicht richtig", None),
        ("high no es correcto", None),
        ("high n'est pas juste", None),
        ("high non va bene", None),
        ("high não é correto", None),
        ("High, not sure why", "high"),
        ("It is high no matter what", "high"),
        ("High because it did not rain", "high"),
        ("high. Not more.", "high"),
    ],
)
def test_an_enum_value_denied_afterwards_is_not_the_answer(reply: str, expected: str | None) -> None:
    verdict = checked({"enum": ["low", "high"]}, reply, coerce="eager")
    assert (verdict.data if verdict.ok else None) == expected
