"""Amounts, percentages, measures, names, identifiers, phone numbers and quotations as people write them.

A value and a locale enter, its surface forms leave, as in `grounding_forms`. Names, phone numbers and quotations also choose the value
that a model would give, because the text may say more than the value does (a title, a middle name, a country code).
"""

from collections.abc import Callable
from random import Random
from typing import NamedTuple

from grounding_forms import QUOTED, Form, Locale, bare, wide
from grounding_words import words

Number = int | float


def plain(value: Number, place: Locale, places: int | None = None, group: str | None = "") -> str:
    """The number with the locale's decimal point; `group` "" means none, None means the locale's."""
    text = f"{value:,.{places}f}" if places is not None else f"{value:,}"
    whole, _, rest = text.partition(".")
    whole = whole.replace(",", place.group if group is None else group)
    return whole + (place.point + rest if rest else "")


def amounts(value: Number, place: Locale) -> list[Form]:
    whole = float(value).is_integer()
    cents = 0 if place.language == "ja" else 2
    texts = [("grouped", plain(value, place, cents, None))]
    if value < 100_000:
        texts.append(("ungrouped", plain(value, place, cents)))
    if whole:
        texts += [("whole", plain(int(value), place, 0, None))]
    if place.region in ("DE", "ES", "PT") and value >= 1000:
        texts.append(("space grouped", plain(value, place, cents, " ")))
    if place.region == "CH" and value >= 1000:
        texts.append(("apostrophe", plain(value, place, cents, "’")))
    if place.language == "fr" and value >= 1000:
        texts += [
            ("no-break", plain(value, place, cents, "\u00a0")),
            ("space grouped", plain(value, place, cents, " ")),
        ]
    forms = [Form(name, money) for name, text in texts for money in _money(text, place)]
    if place.east:
        forms += [Form("wide", wide(texts[0][1]) + ("元" if place.language == "zh" else "円"))]
    if whole:
        forms += _round(int(value), place)
    return forms


def _money(text: str, place: Locale) -> list[str]:
    """With its currency, before or after."""
    if place.region in ("US", "UK"):
        return [
            f"{place.symbol}{text}",
            f"{place.symbol}{text}",
            f"{text} {place.currency}",
            f"{place.currency} {text}",
        ]
    if place.region == "MX":
        return [f"${text}", f"$ {text} MXN", f"{text} pesos"]
    if place.region == "BR":
        return [f"R$ {text}", f"R${text}"]
    if place.region == "CH":
        return [f"CHF {text}", f"Fr. {text}", f"{text} Franken"]
    if place.language == "zh":
        return [f"¥{text}", f"{text}元", f"人民币{text}元", f"RMB {text}"]
    if place.language == "ja":
        return [f"{text}円", f"¥{text}", f"￥{text}", f"金{text}円"]
    return [
        f"{text} €",
        f"{text}€",
        f"{text} EUR",
        f"EUR {text}",
        f"{text} {'Euro' if place.language == 'de' else 'euros'}",
    ]


NAMES = {
    "USD": "dollars", "GBP": "pounds", "EUR": "euros", "MXN": "pesos", "BRL": "reais", "CNY": "元", "JPY": "円", "CHF": "Franken",
}  # fmt: skip


def _currency(place: Locale) -> str:
    return "Euro" if place.currency == "EUR" and place.language == "de" else NAMES[place.currency]


def _trim(value: float, place: Locale) -> str:
    return f"{value:.3f}".rstrip("0").rstrip(".").replace(".", place.point)


def _round(value: int, place: Locale) -> list[Form]:
    """Words and large units, for whole amounts."""
    forms: list[Form] = []
    money = _currency(place)
    zeros = len(str(value)) - len(str(value).rstrip("0"))
    if value < 100_000 and len(str(value)) - zeros <= 2 and value % 10 == 0 and not place.east:
        forms.append(Form("words", f"{words(value, place.language)} {money}", "pt"))
    if place.east:
        return forms + _eastern_round(value, zeros, money, place.language)
    for size in (1000, 1_000_000, 1_000_000_000):
        small = value / size
        if value % (size // 100) or not 1 <= small < 1000:
            continue
        scaled = [Form("scaled", text) for text in SCALED[place.language](size, _trim(small, place), place, money)]
        forms += scaled * (1 if size == 1000 else 3)
    return forms


def _eastern_round(value: int, zeros: int, money: str, language: str) -> list[Form]:
    forms = []
    big = "亿" if language == "zh" else "億"
    if value < 100_000_000 and zeros >= 2 and value >= 100:
        forms.append(Form("numerals", f"{words(value, language)}{money}", "pt"))
    if value >= 10_000 and value % 1000 == 0 and value < 100_000_000:
        text = f"{value / 10_000:.1f}".removesuffix(".0")
        forms += [Form("scaled", f"{text}万{money}")] * 2
        if language == "ja" and value % 10_000:
            forms.append(Form("scaled mixed", f"{value // 10_000}万{value % 10_000 // 1000}千円"))
    if value >= 100_000_000 and value % 1_000_000 == 0:
        text = f"{value / 100_000_000:.2f}".rstrip("0").rstrip(".")
        forms += [Form("scaled", f"{text}{big}{money}")] * 4
    return forms


def _plural(number: str, one: str, many: str) -> str:
    """French and Portuguese count up to 1.99 as one."""
    return one if number.split(",")[0] == "1" else many


def _scaled_en(size: int, t: str, place: Locale, money: str) -> list[str]:
    symbol = place.symbol
    if size == 1000:
        return [f"{symbol}{t}k", f"{symbol}{t}K"]
    word, letters = ("million", "Mm") if size == 1_000_000 else ("billion", ("B", "bn"))
    return [f"{symbol}{t} {word}", f"{t} {word} {money}", *(f"{symbol}{t}{letter}" for letter in letters)]


def _scaled_de(size: int, t: str, place: Locale, money: str) -> list[str]:
    if size == 1000:
        return [f"{t} Tsd. {place.symbol}"]
    if size == 1_000_000:
        return [f"{t} Mio. {place.symbol}", f"{t} Million{'' if t == '1' else 'en'} {money}"]
    return [f"{t} Mrd. {place.symbol}", f"{t} Milliarde{'' if t == '1' else 'n'} {money}"]


def _scaled_es(size: int, t: str, place: Locale, money: str) -> list[str]:
    if size == 1000:
        return [f"{t} mil {money}"] if place.point not in t else []
    if size == 1_000_000:
        return [f"{t} {'millón' if t == '1' else 'millones'} de {money}", *([f"{t} M€"] if place.symbol == "€" else [])]
    millions = round(float(t.replace(place.point, ".")) * 1000)
    return [f"{plain(millions, place, 0, None)} millones de {money}"]


def _scaled_fr(size: int, t: str, place: Locale, money: str) -> list[str]:
    if size == 1000:
        return [f"{t} k{place.symbol}"]
    if size == 1_000_000:
        return [f"{t} {_plural(t, 'million', 'millions')} d'{money}", f"{t} M{place.symbol}"]
    return [f"{t} {_plural(t, 'milliard', 'milliards')} d'{money}", f"{t} Md{place.symbol}"]


def _scaled_pt(size: int, t: str, place: Locale, money: str) -> list[str]:
    if size == 1000:
        return [f"{t} mil {money}"]
    if size == 1_000_000:
        return [f"{t} {_plural(t, 'milhão', 'milhões')} de {money}"]
    return [f"{t} {_plural(t, 'bilhão', 'bilhões') if place.region == 'BR' else 'mil milhões'} de {money}"]


SCALED: dict[str, Callable[[int, str, Locale, str], list[str]]] = {
    "en": _scaled_en,
    "de": _scaled_de,
    "es": _scaled_es,
    "fr": _scaled_fr,
    "pt": _scaled_pt,
}

PERCENT = {
    "en": ("{} percent", "{} per cent"),
    "de": ("{} Prozent", "{} v. H."),
    "es": ("{} por ciento", "{} por cien"),
    "fr": ("{} pour cent", "{} pour cent"),
    "pt": ("{} por cento", "{} por cento"),
    "zh": ("百分之{}", "百分之{}"),
    "ja": ("{}パーセント", "{}パーセント"),
}


def percents(value: Number, place: Locale) -> list[Form]:
    """Forms of a number of percent, not of a fraction."""
    text = _trim(value, place)
    forms = [Form("sign", f"{text}%"), Form("sign spaced", f"{text} %"), Form("sign", f"{text}%")]
    words_d, words_h = PERCENT[place.language]
    if place.language == "zh":
        if float(value).is_integer() and value < 100:
            forms.append(Form("words", words_d.format(words(int(value), "zh")), "pt"))
    else:
        forms += [Form("word-d", words_d.format(text), "pt"), Form("word-h", words_h.format(text), "pt")]
        if float(value).is_integer() and 2 <= value <= 50 and place.language != "ja":
            forms.append(Form("words", words_d.format(words(int(value), place.language)), "pt"))
    if place.east:
        forms.append(Form("wide", wide(text) + "％"))
    return forms


UNITS = {
    "kg": {"en": ("kilograms", "kilos"), "de": ("Kilogramm", "Kilo"), "es": ("kilogramos", "kilos"), "fr": ("kilogrammes", "kilos"), "pt": ("quilogramas", "quilos"), "zh": ("公斤", "千克"), "ja": ("キログラム", "キロ")},
    "g": {"en": ("grams", "grams"), "de": ("Gramm", "Gramm"), "es": ("gramos", "gramos"), "fr": ("grammes", "grammes"), "pt": ("gramas", "gramas"), "zh": ("克", "克"), "ja": ("グラム", "グラム")},
    "mg": {"en": ("milligrams", "milligrams"), "de": ("Milligramm", "Milligramm"), "es": ("miligramos", "miligramos"), "fr": ("milligrammes", "milligrammes"), "pt": ("miligramas", "miligramas"), "zh": ("毫克", "毫克"), "ja": ("ミリグラム", "ミリグラム")},
    "ml": {"en": ("millilitres", "milliliters"), "de": ("Milliliter", "Milliliter"), "es": ("mililitros", "mililitros"), "fr": ("millilitres", "millilitres"), "pt": ("mililitros", "mililitros"), "zh": ("毫升", "毫升"), "ja": ("ミリリットル", "ミリリットル")},
    "m2": {"en": ("square metres", "square meters"), "de": ("Quadratmeter", "qm"), "es": ("metros cuadrados", "metros cuadrados"), "fr": ("mètres carrés", "mètres carrés"), "pt": ("metros quadrados", "metros quadrados"), "zh": ("平方米", "平米"), "ja": ("平方メートル", "平米")},
}  # fmt: skip
SMALLER = {"kg": ("g", 1000), "g": ("mg", 1000)}
LARGER = {"mg": ("g", 1000), "g": ("kg", 1000)}


def measures(value: Number, unit: str, place: Locale, *, convert: bool) -> list[Form]:
    text = _trim(value, place)
    signs = ("m²", "m2", "㎡") if unit == "m2" else (unit,)
    name_d, name_h = UNITS[unit][place.language]
    gap = "" if place.east else " "
    forms = [Form("sign", f"{text} {sign}") for sign in signs] + [Form("sign tight", f"{text}{sign}") for sign in signs]
    forms += [Form("word-d", f"{text}{gap}{name_d}"), Form("word-h", f"{text}{gap}{name_h}")]
    if place.language == "en" and unit == "m2":
        forms.append(Form("sqm", f"{text} sqm"))
    if unit == "kg" and place.east:
        forms.append(Form("wide", wide(text) + "ｋｇ"))
    if convert and unit in SMALLER:
        small, times = SMALLER[unit]
        number = round(value * times, 6)
        if float(number).is_integer():
            forms += [Form("smaller unit", f"{plain(int(number), place, 0)} {small}")] * 3
            forms += [Form("smaller unit grouped", f"{plain(int(number), place, 0, None)} {small}")]
    if convert and unit == "mg" and value >= 100:
        forms.append(Form("larger unit", f"{_trim(value / 1000, place)} g"))
    return forms


# -- names --------------------------------------------------------------------------------------------------------------------


class Person(NamedTuple):
    first: str
    middle: str
    last: str
    woman: bool


class Written(NamedTuple):
    """The value that a model gives, and the text that it read."""

    value: str
    form: Form


TITLES = {
    "en": (("Mr", "Ms"), ("Dr.", "Dr.")),
    "de": (("Herr", "Frau"), ("Dr.", "Dr.")),
    "es": (("Sr.", "Sra."), ("D.", "Dña.")),
    "fr": (("M.", "Mme"), ("Dr", "Dr")),
    "pt": (("Sr.", "Sra."), ("Dr.", "Dra.")),
}


def full_name(person: Person, language: str) -> str:
    if language in ("zh", "ja"):
        return person.last + person.first
    return f"{person.first} {person.last}"


def names(person: Person, place: Locale, half: str) -> list[Written]:
    first, middle, last, woman = person
    name = full_name(person, place.language)
    if place.language == "zh":
        title = "女士" if woman else "先生"
        return [
            *[Written(name, Form("full", name))] * 3,
            Written(name, Form("title", name + title)),
            Written(name, Form("spaced", f"{last} {first}", "c")),
            Written(name, Form("wide space", f"{last}\u3000{first}", "c")),
        ]
    if place.language == "ja":
        spaced = f"{last} {first}"
        return [
            *[Written(name, Form("full", name))] * 2,
            Written(spaced, Form("space in the value", name)),
            Written(name, Form("spaced", spaced)),
            Written(name, Form("wide space", f"{last}\u3000{first}")),
            Written(spaced, Form("full", spaced)),
            Written(name, Form("title", name + ("様" if half == "dev" else "氏"), "c")),
        ]
    titles = [pair[woman] for pair in TITLES[place.language]]
    long = f"{first} {middle} {last}"
    written = [
        *[Written(name, Form("full", name))] * 4,
        Written(name, Form("last first", f"{last}, {first}", "c")),
        Written(name, Form("LAST first", f"{last.upper()}, {first}", "c")),
        Written(name, Form("title", f"{titles[half == 'held']} {name}")),
        Written(name, Form("middle left out", long)),
        Written(name, Form("middle initial", f"{first} {middle[0]}. {last}")),
        Written(long, Form("middle kept", long)),
        Written(long, Form("last first middle", f"{last}, {first} {middle}", "c")),
        Written(f"{first[0]}. {last}", Form("initial in the value", name)),
        Written(name, Form("upper", name.upper(), "c")),
    ]
    if bare(name) != name:
        written.append(Written(name, Form("no accents", bare(name))))
    return written


# -- identifiers, phones, quotations --------------------------------------------------------------------------------------------


def identifiers(value: str, place: Locale) -> list[Form]:
    forms = [Form("plain", value)] * 4
    if any(c.isalpha() for c in value):
        forms.append(Form("lower", value.lower()))
    if "-" in value:
        forms += [
            Form("spaces", value.replace("-", " ")),
            Form("dash-h", value.replace("-", "–")),
            Form("slash-d", value.replace("-", " - ")),
        ]
        if value.count("-") == 1:
            forms.append(Form("tight", value.replace("-", "")))
    elif value.isdigit() and len(value) >= 10:
        forms.append(Form("grouped", " ".join(value[at : at + 4] for at in range(0, len(value), 4))))
    else:
        forms.append(Form("hash", f"#{value}"))
    if place.east:
        forms.append(
            Form("wide", wide("".join(chr(ord(c) + 0xFEE0) if c.isascii() and c.isalpha() else c for c in value)))
        )
    return forms


COUNTRY = {
    "US": "1",
    "UK": "44",
    "DE": "49",
    "CH": "41",
    "ES": "34",
    "MX": "52",
    "FR": "33",
    "BR": "55",
    "PT": "351",
    "CN": "86",
    "JP": "81",
}
TRUNK = {"UK": "0", "DE": "0", "CH": "0", "FR": "0", "JP": "0"}
GROUPS = {
    "US": (3, 3, 4), "UK": (2, 4, 4), "DE": (2, 4, 4), "CH": (2, 3, 2, 2), "ES": (3, 3, 3), "MX": (2, 4, 4), "FR": (1, 2, 2, 2, 2),
    "BR": (2, 5, 4), "PT": (3, 3, 3), "CN": (3, 4, 4), "JP": (1, 4, 4),
}  # fmt: skip
OTHER = {"US": (3, 7), "UK": (2, 2, 2, 2, 2), "DE": (2, 8), "CH": (2, 7), "ES": (3, 2, 2, 2), "MX": (10,), "FR": (1, 8), "BR": (2, 9), "PT": (9,), "CN": (3, 8), "JP": (9,)}  # fmt: skip
START = {
    "US": "555",
    "UK": "20",
    "DE": "30",
    "CH": "44",
    "ES": "9",
    "MX": "55",
    "FR": "1",
    "BR": "11",
    "PT": "2",
    "CN": "1",
    "JP": "3",
}


def phone_digits(region: str, chance: Random) -> str:
    start = START[region]
    return start + "".join(str(chance.randrange(2, 10)) for _ in range(sum(GROUPS[region]) - len(start)))


def _cut(digits: str, groups: tuple[int, ...]) -> list[str]:
    out, at = [], 0
    for size in groups:
        out.append(digits[at : at + size])
        at += size
    return out


def phones(digits: str, place: Locale) -> list[Written]:
    """E.164 for an international text, or the national number for a national or an international text."""
    region = place.region
    code, trunk = COUNTRY[region], TRUNK.get(region, "")
    usual, other = _cut(digits, GROUPS[region]), _cut(digits, OTHER[region])
    world, home = f"+{code}{digits}", trunk + digits
    written = [
        Written(world, Form("international", f"+{code} {' '.join(usual)}")),
        Written(world, Form("international dashes", f"+{code}-{'-'.join(usual)}")),
        Written(world, Form("international other", f"+{code} {' '.join(other)}")),
        Written(world, Form("double zero", f"00{code} {' '.join(usual)}")),
        Written(home, Form("national", trunk + " ".join(usual))),
        Written(home, Form("national dashes", trunk + "-".join(usual))),
        Written(home, Form("national brackets", f"({trunk}{usual[0]}) {'-'.join(usual[1:])}")),
        Written(trunk + "-".join(usual), Form("dashes for spaces", trunk + " ".join(usual))),
        Written(home, Form("dots-h", trunk + ".".join(usual))),
        Written(home, Form("slash-d", f"{trunk}{usual[0]}/{''.join(usual[1:])}")),
    ]
    if trunk:
        written.append(Written(world, Form("optional zero", f"+{code} (0){' '.join(usual)}")))
    if place.east:
        written.append(Written(home, Form("wide", wide(trunk + "-".join(usual)))))
    return written


def quotations(text: str, place: Locale, chance: Random) -> list[Written]:
    stop = text[-1]
    value = text if chance.random() < 0.6 else text.rstrip(".。")
    written = [Written(value, Form("quoted", marks.format(text))) for marks in QUOTED[place.language][:2]]
    written.append(Written(value, Form("straight", f'"{text}"')))
    if not place.east:
        at = text.find(" ", len(text) // 2)
        written.append(
            Written(value, Form("line break", QUOTED[place.language][0].format(text[:at] + "\n" + text[at + 1 :]), "p"))
        )
        written.append(
            Written(
                value.rstrip("."),
                Form("comma at the end", QUOTED[place.language][0].format(text.rstrip(".") + ","), "p"),
            )
        )
    elif stop == "。":
        written.append(
            Written(value.rstrip("。"), Form("no stop", QUOTED[place.language][0].format(text.rstrip("。"))))
        )
    return written
