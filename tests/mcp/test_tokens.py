"""The estimate of tokens: above the counts of real tokenizers, but not far above them for the usual contents of
results."""

import base64
import json
import random
import string
from pathlib import Path

import pytest

from tests.mcp.tokenizers import most
from trueup.mcp.tokens import estimate

DRAW = random.Random(7)
ROOT = Path(__file__).parents[2]


def letters(alphabet: str, size: int = 4_000) -> str:
    return "".join(DRAW.choices(alphabet, k=size))


def span(first: int, last: int) -> str:
    return "".join(chr(DRAW.randint(first, last)) for _ in range(1_500))


USUAL = {
    "prose": (ROOT / "docs" / "design.md").read_text()[:20_000],
    "code": (ROOT / "src" / "trueup" / "studio" / "app.py").read_text(),
    "contracts": "".join(path.read_text() for path in sorted((ROOT / "examples").rglob("*.yaml")))[:20_000],
    "rows": json.dumps(
        [{"code": "V001", "level": "error", "path": f"$.items[{n}].name", "span": [n, n + 3]} for n in range(200)]
    ),
    "latin": "Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor incididunt. " * 40,
    "spanish": "El veloz murciélago hindú comía feliz cardillo y kiwi. La cigüeña tocaba el saxofón detrás. " * 40,
}
UNUSUAL = {
    "hexadecimal": letters("0123456789abcdef"),
    "digits": letters(string.digits),
    "base64": base64.b64encode(DRAW.randbytes(4_000)).decode(),
    "random letters": letters(string.ascii_lowercase),
    "random words": " ".join(letters(string.ascii_lowercase, DRAW.randint(2, 12)) for _ in range(600)),
    "short random words": " ".join(letters(string.ascii_lowercase, 4) for _ in range(600)),
    "capitals": " ".join(letters(string.ascii_uppercase, DRAW.randint(2, 12)) for _ in range(600)),
    "mixed case": letters(string.ascii_letters),
    "punctuation": letters(string.punctuation),
    "blanks": letters(" \n\t"),
    "lines": "\n" * 3_000,
    "escapes": "".join(DRAW.choices(["\\x1b", "<U+202E>", "\\n", '\\"', "\\\\"], k=1_500)),
    "german": "Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich; Donaudampfschifffahrtsgesellschaft. "
    * 30,
    "russian": "Съешь же ещё этих мягких французских булок, да выпей чаю. " * 40,
    "arabic": "نص حكيم له سر قاطع وذو شأن عظيم مكتوب على ثوب أخضر ومغلف بجلد أزرق. " * 40,
    "hindi": "ऋषियों को सताने वाले दुष्ट राक्षसों के राजा रावण का सर्वनाश करने वाले। " * 40,
    "thai": "เป็นมนุษย์สุดประเสริฐเลิศคุณค่า กว่าบรรดาฝูงสัตว์เดรัจฉาน " * 40,
    "chinese": "在人工智能时代，每一个模型的回复都必须经过验证才能使用。订单号码无法确认。" * 40,
    "random hanzi": span(0x4E00, 0x9FFF),
    "accents": span(0xC0, 0x24F),
    "any two bytes": span(0xA1, 0x7FF),
    "any three bytes": span(0x800, 0xD7FF),
    "emoji": span(0x1F300, 0x1F6FF),
    "any four bytes": span(0x10000, 0x1FFFF),
}


@pytest.mark.parametrize("name", [*USUAL, *UNUSUAL])
def test_no_tokenizer_counts_more_than_the_estimate(name: str) -> None:
    text = {**USUAL, **UNUSUAL}[name]
    assert estimate(text) >= most(text)


@pytest.mark.parametrize("name", USUAL)
def test_the_estimate_of_usual_text_is_less_than_twice_the_count(name: str) -> None:
    assert estimate(USUAL[name]) < 2 * most(USUAL[name])


def test_a_part_never_has_more_than_the_whole() -> None:
    text = USUAL["contracts"]
    sizes = [estimate(text[:end]) for end in range(0, len(text), 997)]
    assert sizes == sorted(sizes)
