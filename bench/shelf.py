"""Measure the ready checks: false alarms on texts that were not used to write them, recall on made-up positives, CPU per reply.

    make bench-shelf [REPLIES="FILE.jsonl ..."]
    .venv/bin/python bench/shelf.py [--markdown docs/benchmarks-shelf.md] [--replies FILE.jsonl ...] [--locales FOLDER ...]

Ordinary texts come from what is installed: paragraphs of the documentation, docstrings of Python's standard library, licences and
descriptions of packages, manual pages, and replies of models if files of them are given. Sentences of known language come from message
catalogues (`*.mo`) below the folders given by --locales. Nothing is fetched. An alarm is counted once per text.
"""

import argparse
import ast
import gettext
import gzip
import itertools
import json
import random
import re
import string
import sys
import sysconfig
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from trueup.shelf.cards import issuer_of
from trueup.shelf.ibans import LENGTHS
from trueup.shelf.subject import CheckedText
from trueup.shelf.table import SHELF, load

ROOT = Path(__file__).resolve().parent.parent
SEED = 20_240
PER_KIND = 3_000  # texts of one kind, at the most
SENTENCES = {
    "en": "Thank you for your message. The details are {}, and we will come back to you soon.",
    "es": "Gracias por su mensaje. Los datos son {} y le responderemos muy pronto.",
    "de": "Vielen Dank für Ihre Nachricht. Die Angaben lauten {}; wir melden uns bald.",
    "fr": "Merci pour votre message. Voici les informations : {}. À très bientôt.",
    "ru": "Спасибо за ваше сообщение. Данные: {} и мы скоро ответим.",
    "ja": "ご連絡ありがとうございます。詳細は {} です。",
    "zh": "感谢您的来信，资料是 {} ，我们会尽快回复。",
}
PLACEHOLDERS = re.compile(r"%\([^)]*\)[a-z]|%[-#0-9.*l]*[a-z]|\{[^}]*\}|<[^>]*>|&[a-z]+;|\\[a-z]")
CATALOGUES = {
    "es": "es", "de": "de", "fr": "fr", "it": "it", "pt": "pt", "pt_BR": "pt", "nl": "nl", "sv": "sv", "da": "da", "nb": "no", "fi": "fi", "pl": "pl",
    "cs": "cs", "sk": "sk", "hu": "hu", "ro": "ro", "bg": "bg", "ru": "ru", "uk": "uk", "el": "el", "tr": "tr", "ar": "ar", "he": "he", "vi": "vi",
    "id": "id", "ja": "ja", "ko": "ko", "zh_CN": "zh", "zh_Hans": "zh", "ca": "ca", "hr": "hr", "sl": "sl", "lt": "lt", "lv": "lv", "et": "et", "eu": "eu",
}  # fmt: skip


class Row(NamedTuple):
    check: str
    what: str
    texts: int
    alarms: int


def ordinary(replies: list[Path], rng: random.Random) -> dict[str, list[str]]:
    """Texts in which a check should find nothing, by their source."""
    site = Path(sysconfig.get_paths()["purelib"])
    library = Path(sysconfig.get_paths()["stdlib"])
    made: dict[str, Callable[[], Iterator[str]]] = {
        "documentation": lambda: paragraphs(sorted((ROOT / "docs").rglob("*.md"))),
        "docstrings of Python": lambda: docstrings(sorted(library.glob("*.py")) + sorted(library.glob("*/*.py"))),
        "docstrings of packages": lambda: docstrings(sorted(site.glob("[a-r]*/*.py"))),
        "package descriptions": lambda: paragraphs(sorted(site.glob("*.dist-info/METADATA"))),
        "licences": lambda: paragraphs(sorted(site.glob("*.dist-info/**/LICENSE*"))),
        "manual pages": lambda: manuals(),
        "replies": lambda: replies_in(replies),
    }
    found = {}
    for name, make in made.items():
        texts = sorted({text for text in make() if 20 <= len(text) <= 20_000})
        rng.shuffle(texts)
        if texts:
            found[name] = texts[:PER_KIND]
    return found


def paragraphs(files: list[Path]) -> Iterator[str]:
    for file in files:
        if file.is_file():
            text = file.read_text("utf-8", errors="replace")
            parts = re.split(r"\n\s*\n", text)
            yield from ("\n\n".join(parts[at : at + 3]) for at in range(0, len(parts), 3))


def docstrings(files: list[Path]) -> Iterator[str]:
    for file in files:
        try:
            tree = ast.parse(file.read_text("utf-8"))
        except (SyntaxError, UnicodeDecodeError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                yield ast.get_docstring(node) or ""


def manuals() -> Iterator[str]:
    for file in sorted(Path("/usr/share/man").glob("man[1-8]/*.gz"))[::3][:800]:
        text = gzip.decompress(file.read_bytes()).decode("utf-8", "replace")
        plain = re.sub(r"^[.'].*$", "", re.sub(r"\\f.|\\[&%|]|\\-", "", text), flags=re.MULTILINE)
        parts = re.split(r"\n{3,}", plain)
        yield from ("\n".join(parts[at : at + 4]) for at in range(0, len(parts), 4))


def replies_in(files: list[Path]) -> Iterator[str]:
    """Every text of some length in a file of JSON lines: replies at any place."""
    for file in files:
        for line in file.read_text("utf-8").splitlines():
            todo: list[Any] = [json.loads(line)]
            while todo:
                value = todo.pop()
                if isinstance(value, str) and len(value) >= 40:
                    yield value
                elif isinstance(value, dict):
                    todo += value.values()
                elif isinstance(value, list):
                    todo += value


def sentences(folders: list[Path], rng: random.Random) -> dict[str, list[str]]:
    """Messages of 40 characters and more (15 in Chinese, Japanese and Korean), by language, from catalogues below folders."""
    found: dict[str, set[str]] = {}
    for folder in folders:
        for file in sorted(folder.rglob("*.mo")):
            place = next((part for part in file.parts if part in CATALOGUES), "")
            if not place or "LC_MESSAGES" not in file.parts:
                continue
            try:
                catalogue: dict[Any, str] = gettext.GNUTranslations(file.open("rb"))._catalog  # type: ignore[attr-defined]  # noqa: SLF001 - it has no other way to list its messages
            except (OSError, UnicodeDecodeError):
                continue
            for key, said in catalogue.items():
                source = key if isinstance(key, str) else key[0]
                if not source or said == source:
                    continue
                for language, text in ((CATALOGUES[place], said), ("en", source)):
                    clean = " ".join(PLACEHOLDERS.sub(" ", text).split())
                    least = 15 if language in ("zh", "ja", "ko") else 40
                    if len(clean) >= least and sum(map(str.isalpha, clean)) >= 0.7 * least:
                        found.setdefault(language, set()).add(clean)
    return {language: rng.sample(sorted(texts), min(200, len(texts))) for language, texts in sorted(found.items())}


def check_digit(body: str) -> str:
    doubled = (0, 2, 4, 6, 8, 1, 3, 5, 7, 9)
    back = body[::-1]
    total = sum(doubled[int(one)] for one in back[::2]) + sum(map(int, back[1::2]))
    return str(-total % 10)


def card(rng: random.Random) -> str:
    while True:
        head, length = rng.choice(
            [
                ("4", 16),
                ("51", 16),
                ("2221", 16),
                ("34", 15),
                ("37", 15),
                ("6011", 16),
                ("3528", 16),
                ("62", 16),
                ("36", 14),
            ]
        )
        body = head + "".join(rng.choices(string.digits, k=length - len(head) - 1))
        number = body + check_digit(body)
        if issuer_of(number):
            break
    if length == 16 and rng.random() < 0.6:
        return rng.choice(" -").join(number[at : at + 4] for at in range(0, 16, 4))
    return f"{number[:4]} {number[4:10]} {number[10:]}" if length == 15 and rng.random() < 0.5 else number


def iban(rng: random.Random) -> str:
    country = rng.choice(sorted(LENGTHS))
    body = "".join(rng.choices(string.digits, k=LENGTHS[country] - 4))
    if country in ("GB", "NL", "IE", "MT", "LV"):
        body = "".join(rng.choices(string.ascii_uppercase, k=4)) + body[4:]
    number = int("".join(str(int(sign, 36)) for sign in f"{body}{country}00"))
    whole = f"{country}{98 - number % 97:02d}{body}"
    return " ".join(whole[at : at + 4] for at in range(0, len(whole), 4)) if rng.random() < 0.6 else whole


def email(rng: random.Random) -> str:
    name = rng.choice(["ada", "grace.h", "j_smith", "o'neil", "info+news", "maría", "x99"])
    host = rng.choice(["example.com", "mail.example.co.uk", "büro.example", "example-shop.io", "a.b.example.org"])
    return rng.choice(["{}", "<{}>", "mailto:{}", "**{}**", "({})"]).format(f"{name}@{host}")


def phones() -> list[tuple[str, str]]:
    import phonenumbers
    from phonenumbers import PhoneNumberFormat, PhoneNumberType

    made = []
    for region in sorted(phonenumbers.SUPPORTED_REGIONS):
        for kind in (PhoneNumberType.FIXED_LINE, PhoneNumberType.MOBILE):
            number = phonenumbers.example_number_for_type(region, kind)
            if number is not None:
                made += [
                    (region, phonenumbers.format_number(number, PhoneNumberFormat.INTERNATIONAL)),
                    (region, phonenumbers.format_number(number, PhoneNumberFormat.E164)),
                    (f"{region}!", phonenumbers.format_number(number, PhoneNumberFormat.NATIONAL)),
                ]
    return made


def secret(rng: random.Random) -> str:
    def drawn(signs: str, size: int) -> str:
        return "".join(rng.choices(signs, k=size))

    words, capitals = string.ascii_letters + string.digits, string.ascii_uppercase + string.digits
    forms = [
        lambda: "sk-" + drawn(words, 48), lambda: "sk-proj-" + drawn(words + "-_", 80) + "9a", lambda: "AKIA" + drawn(capitals, 16),
        lambda: "ghp_" + drawn(words, 36), lambda: "AIza" + drawn(words, 35), lambda: "xoxb-" + drawn(string.digits, 12) + "-" + drawn(words, 24),
        lambda: "Bearer " + drawn(words, 40), lambda: "hf_" + drawn(words, 34), lambda: "npm_" + drawn(words, 36), lambda: "glpat-" + drawn(words, 20),
        lambda: "eyJ" + drawn(words, 20) + ".eyJ" + drawn(words, 40) + "." + drawn(words, 43),
        lambda: "-----BEGIN RSA PRIVATE KEY-----\n" + drawn(words, 64) + "\n" + drawn(words, 64) + "\n-----END RSA PRIVATE KEY-----",
        lambda: "postgres://reporting:" + drawn(words, 12) + "@db.internal:5432/x", lambda: "api_key = '" + drawn(words, 32) + "'",
    ]  # fmt: skip
    return rng.choice(forms)()


def look_alike(rng: random.Random) -> str:
    """Something with as many digits or signs as a secret, an address, a card, an account or a telephone number, without being one."""

    def digits(size: int) -> str:
        return "".join(rng.choices(string.digits, k=size))

    def hexadecimal(size: int) -> str:
        return "".join(rng.choices("0123456789abcdef", k=size))

    def isbn() -> str:
        body = "978" + digits(9)
        return body + str(-sum(int(one) * (1, 3)[at % 2] for at, one in enumerate(body)) % 10)

    forms = [
        lambda: f"order {digits(rng.randint(6, 16))}", lambda: f"order #{digits(rng.randint(6, 16))}", lambda: f"invoice {rng.randint(2015, 2026)}-{digits(6)}",
        lambda: f"ISBN {isbn()}", lambda: f"article {isbn()}", lambda: str(uuid.UUID(int=rng.getrandbits(128))), lambda: f"commit {hexadecimal(40)}",
        lambda: f"sha256:{hexadecimal(64)}", lambda: f"{rng.randint(1_500_000_000, 1_900_000_000)}", lambda: f"{rng.randint(1_500_000_000_000, 1_900_000_000_000)}",
        lambda: f"2026-{rng.randint(1, 12):02}-{rng.randint(1, 28):02} {rng.randint(0, 23):02}:{rng.randint(0, 59):02}:{rng.randint(0, 59):02}",
        lambda: f"v{rng.randint(0, 20)}.{rng.randint(0, 40)}.{rng.randint(0, 99)}-rc.{rng.randint(1, 9)}", lambda: f"{rng.randint(1, 9_999_999):,}.{digits(2)} EUR",
        lambda: f"tracking number 1Z{digits(3)}AA{digits(10)}", lambda: f"192.168.{rng.randint(0, 255)}.{rng.randint(0, 255)}:{digits(4)}",
        lambda: f"{rng.random() * 100:.14f}", lambda: f"rows {digits(4)}-{digits(4)}", lambda: "OPENAI_API_KEY=sk-your-key-here", lambda: f"icon@{rng.randint(2, 4)}x.png",
        lambda: f"git@github.com:acme/{hexadecimal(6)}.git", lambda: f"package@{rng.randint(0, 20)}.{rng.randint(0, 40)}.1", lambda: f"IMEI {digits(15)}",
    ]  # fmt: skip
    return rng.choice(forms)()


def disguised(value: str, rng: random.Random) -> str:
    """The same for a reader: full-width signs, or invisible characters between."""
    if rng.random() < 0.5:
        return "".join(chr(ord(one) + 0xFEE0) if "!" <= one <= "~" else one for one in value)
    at = rng.randint(1, len(value) - 1)
    return value[:at] + rng.choice("\u200b\u00ad\u2060\ufeff") + value[at:]


def in_sentence(value: str, rng: random.Random) -> str:
    return rng.choice(list(SENTENCES.values())).format(value)


def looks(name: str, options: dict[str, Any] | None = None) -> Callable[[str], bool]:
    look = load(SHELF[name], options or {})
    return lambda text: next(iter(look(CheckedText(text))), None) is not None


def alarms(texts: dict[str, list[str]], examples: list[str]) -> Iterator[Row]:
    """How often each check complains about ordinary texts."""
    checks = {
        "no_secrets": looks("no_secrets"), "no_email": looks("no_email"), "no_phone": looks("no_phone"),
        "no_phone, region US": looks("no_phone", {"region": "US"}), "no_card": looks("no_card"), "no_iban": looks("no_iban"),
        "language en": looks("language", {"language": "en"}), "urls": looks("urls"), "no_repetition": looks("no_repetition"), "code": looks("code"),
    }  # fmt: skip
    for name, look in checks.items():
        for where, found in texts.items():
            told = [text for text in found if look(text)]
            examples += [f"{name} | {where} | {text[:400]!r}" for text in told[:20]]
            yield Row(name, where, len(found), len(told))
    numbers = [in_sentence(look_alike(random.Random(seed)), random.Random(seed)) for seed in range(5_000)]
    for name in ("no_secrets", "no_email", "no_phone", "no_phone, region US", "no_card", "no_iban", "urls"):
        told = [text for text in numbers if checks[name](text)]
        examples += [f"{name} | look-alikes | {text!r}" for text in told[:20]]
        yield Row(name, "made-up numbers, keys and names", len(numbers), len(told))
    leak = load(SHELF["no_prompt_leak"], {})
    found = texts["documentation"]
    told = [
        1 for one, other in itertools.pairwise(found) if next(iter(leak(CheckedText(other, {"prompt": one}))), None)
    ]
    yield Row("no_prompt_leak", "another paragraph as the prompt", len(found) - 1, len(told))


def recall(texts: dict[str, list[str]], rng: random.Random, examples: list[str]) -> Iterator[Row]:
    """How often each check finds a real case."""
    made = {"no_secrets": secret, "no_email": email, "no_card": card, "no_iban": iban}
    for name, make in made.items():
        look = looks(name)
        for what, change in (("", lambda value, _: value), (", disguised", disguised)):
            given = [in_sentence(change(make(rng), rng), rng) for _ in range(5_000)]
            missed = [text for text in given if not look(text)]
            examples += [f"missed {name}{what} | {text!r}" for text in missed[:20]]
            yield Row(name, f"made-up values in sentences of 7 languages{what}", len(given), len(given) - len(missed))
    by_region = phones()
    hits = {"international": [0, 0], "national": [0, 0]}
    for region, number in by_region:
        national = region.endswith("!")
        look = looks("no_phone", {"region": region.rstrip("!")} if national else {})
        count = hits["national" if national else "international"]
        count[0] += 1
        text = in_sentence(number, rng)
        if look(text):
            count[1] += 1
        else:
            examples.append(f"missed no_phone | {region} | {text!r}")
    for what, (total, right) in hits.items():
        yield Row("no_phone", f"example numbers of every country, {what}", total, right)
    prose = [text for text in texts["package descriptions"] if 60 <= len(text) <= 2_000 and len(text.split()) > 40][
        :1_000
    ]
    loops = [
        " ".join([re.split(r"(?<=[.!?])\s", text)[0]] * 6)
        for text in prose
        if len(re.split(r"(?<=[.!?])\s", text)[0].split()) >= 5
    ]
    look = looks("no_repetition")
    missed = [text for text in loops if not look(text)]
    examples += [f"missed no_repetition | {text[:400]!r}" for text in missed]
    yield Row("no_repetition", "a sentence six times", len(loops), len(loops) - len(missed))
    leak = load(SHELF["no_prompt_leak"], {})
    leaked = [(text, " ".join(text.split()[5:30])) for text in prose]
    right = sum(
        next(iter(leak(CheckedText(f"Well. {part} That is all.", {"prompt": text}))), None) is not None
        for text, part in leaked
    )
    yield Row("no_prompt_leak", "25 words of a prompt", len(leaked), right)


def languages(
    known: dict[str, list[str]], examples: list[str]
) -> tuple[list[tuple[str, int, int, int]], tuple[int, int]]:
    """By language: sentences, wrongly refused under that language, and refused under another (English; Spanish for English)."""
    rows = []
    refused = total = 0
    for language, texts in known.items():
        own, other = (
            looks("language", {"language": language}),
            looks("language", {"language": "es" if language == "en" else "en"}),
        )
        wrong = [text for text in texts if own(text)]
        examples += [f"language {language} | {text!r}" for text in wrong]
        caught = sum(map(other, texts))
        rows.append((language, len(texts), len(wrong), caught))
        refused, total = refused + caught, total + len(texts)
    return rows, (refused, total)


def cost() -> Iterator[tuple[str, float]]:
    """Microseconds of CPU for a reply of one kilobyte of prose."""
    text = (
        (SENTENCES["en"].format("in your account") + " ") * 3
        + (SENTENCES["es"].format("los siguientes") + " ") * 3
        + SENTENCES["fr"].format("ici")
    )
    text = (text + " " + " ".join(f"Item {n} costs {n * 7} euros and ships on day {n}." for n in range(20)))[:1024]
    options: dict[str, dict[str, Any]] = {
        "language": {"language": "en"},
        "terms": {"forbid": ["guarantee", "free of charge"]},
        "urls": {"allow": ["example.com"]},
    }
    prompt = {"prompt": text[::-1], "history": []}
    for name, row in SHELF.items():
        if row.group:
            continue
        look = load(row, options.get(name, {}))
        seen = CheckedText(text, prompt)
        list(look(seen))
        yield name, min(timed(look, seen) for _ in range(9))


def timed(look: Callable[[CheckedText], Any], seen: CheckedText) -> float:
    """Microseconds of CPU for one look."""
    rounds = 30
    begun = time.process_time()
    for _ in range(rounds):
        list(look(seen))
    return (time.process_time() - begun) / rounds * 1e6


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--markdown", type=Path)
    options.add_argument("--replies", type=Path, nargs="*", default=[])
    options.add_argument("--locales", type=Path, nargs="*", default=[Path(sys.prefix), Path("/usr/share/locale")])
    options.add_argument("--examples", type=Path, help="write alarms and misses to a file, to look at them")
    given = options.parse_args()
    rng = random.Random(SEED)
    examples: list[str] = []
    texts = ordinary(given.replies, rng)
    out = [
        "## Alarms on ordinary texts",
        "",
        "| check | texts | count | with an alarm | share |",
        "|---|---|---:|---:|---:|",
    ]
    out += [
        f"| {r.check} | {r.what} | {r.texts:,} | {r.alarms} | {r.alarms / max(1, r.texts):.2%} |"
        for r in alarms(texts, examples)
    ]
    out += [
        "",
        "## Found in made-up replies",
        "",
        "| check | replies | count | found | share |",
        "|---|---|---:|---:|---:|",
    ]
    out += [
        f"| {r.check} | {r.what} | {r.texts:,} | {r.alarms:,} | {r.alarms / max(1, r.texts):.2%} |"
        for r in recall(texts, rng, examples)
    ]
    rows, (refused, total) = languages(sentences(given.locales, rng), examples)
    wrong = sum(row[2] for row in rows)
    out += ["", "## Languages", "", f"{total:,} sentences of message catalogues in {len(rows)} languages. Under their own language {wrong} are refused ({wrong / max(1, total):.2%}); under another one {refused:,} are ({refused / max(1, total):.2%}), and the rest is not judged.", "",
            "| language | sentences | refused under their own | refused under another |", "|---|---:|---:|---:|"]  # fmt: skip
    out += [f"| {language} | {count} | {own} | {other} |" for language, count, own, other in rows]
    out += ["", "## CPU", "", "| check | µs for a reply of 1 KB |", "|---|---:|"]
    out += [f"| {name} | {micro:,.0f} |" for name, micro in cost()]
    print("\n".join(out))
    if given.examples:
        given.examples.write_text("\n".join(examples), "utf-8")
    if given.markdown:
        head = "# How often ready checks are wrong\n\nMeasured by `bench/shelf.py` (`make bench-shelf`) on texts that were not used to write the checks; the notes name the few that led to changes afterwards. [Ready checks](howto/ready-checks.md) says what each one does.\n"
        kept = given.markdown.read_text("utf-8") if given.markdown.exists() else ""
        notes = kept[kept.index("## Notes") :] if "## Notes" in kept else ""
        given.markdown.write_text(f"{head}\n" + "\n".join(out) + "\n" + (f"\n{notes}" if notes else ""), "utf-8")


if __name__ == "__main__":
    main()
