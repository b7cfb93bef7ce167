"""Dates, times, whole numbers and strings as people write them: a value and a locale enter, its surface forms leave.

A form says where it can be used (`c` a cell, `p` a sentence, `t` a turn of a chat) and what else a reader may take it for. Forms whose
name ends in `-d` or `-h` belong to one half of the material only.
"""

import datetime as dt
import unicodedata
from random import Random
from typing import Any, NamedTuple

from grounding_words import words


class Form(NamedTuple):
    name: str
    text: str
    where: str = "cpt"
    also: tuple[Any, ...] = ()  # other values that the text can mean


class Locale(NamedTuple):
    language: str
    region: str
    currency: str
    symbol: str
    group: str
    point: str
    today: dt.date

    @property
    def east(self) -> bool:
        return self.language in ("zh", "ja")


REGIONS: dict[str, tuple[tuple[str, str, str, str, str], ...]] = {
    "en": (("US", "USD", "$", ",", "."), ("UK", "GBP", "£", ",", ".")),
    "de": (("DE", "EUR", "€", ".", ","), ("DE", "EUR", "€", ".", ","), ("CH", "CHF", "Fr.", "'", ".")),
    "es": (("ES", "EUR", "€", ".", ","), ("MX", "MXN", "$", ",", ".")),
    "fr": (("FR", "EUR", "€", "\u202f", ","),),
    "pt": (("BR", "BRL", "R$", ".", ","), ("PT", "EUR", "€", ".", ",")),
    "zh": (("CN", "CNY", "¥", ",", "."),),
    "ja": (("JP", "JPY", "¥", ",", "."),),
}

MONTHS = {
    "en": "January February March April May June July August September October November December".split(),
    "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember".split(),
    "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre".split(),
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre".split(),
    "pt": "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro".split(),
}
SHORT = {
    "en": "Jan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec".split(),
    "de": "Jan. Feb. Mrz. Apr. Mai Jun. Jul. Aug. Sept. Okt. Nov. Dez.".split(),
    "es": "ene feb mar abr may jun jul ago sept oct nov dic".split(),
    "fr": "janv. févr. mars avr. mai juin juil. août sept. oct. nov. déc.".split(),
    "pt": "jan. fev. mar. abr. mai. jun. jul. ago. set. out. nov. dez.".split(),
}
DAYS = {
    "en": "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split(),
    "de": "Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag".split(),
    "es": "lunes martes miércoles jueves viernes sábado domingo".split(),
    "fr": "lundi mardi mercredi jeudi vendredi samedi dimanche".split(),
    "pt": "segunda-feira terça-feira quarta-feira quinta-feira sexta-feira sábado domingo".split(),
    "zh": "一二三四五六日",
    "ja": "月火水木金土日",
}
SOON = {
    "en": ("today", "tomorrow", "the day after tomorrow"),
    "de": ("heute", "morgen", "übermorgen"),
    "es": ("hoy", "mañana", "pasado mañana"),
    "fr": ("aujourd'hui", "demain", "après-demain"),
    "pt": ("hoje", "amanhã", "depois de amanhã"),
    "zh": ("今天", "明天", "后天"),
    "ja": ("本日", "明日", "明後日"),
}
WIDE = str.maketrans("0123456789:/.,-+%", "０１２３４５６７８９：／．，－＋％")
HAN_DIGITS = str.maketrans("0123456789", "〇一二三四五六七八九")


def locale(language: str, chance: Random) -> Locale:
    today = dt.date(2023, 1, 10) + dt.timedelta(days=chance.randrange(700))
    return Locale(language, *chance.choice(REGIONS[language]), today)


def wide(text: str) -> str:
    return text.translate(WIDE)


def bare(text: str) -> str:
    """Without accents."""
    return unicodedata.normalize(
        "NFC", "".join(c for c in unicodedata.normalize("NFD", text) if not unicodedata.combining(c))
    )


def _ordinal(n: int) -> str:
    return f"{n}{'th' if 11 <= n % 100 <= 13 else {1: 'st', 2: 'nd', 3: 'rd'}.get(n % 10, 'th')}"


def _swapped(date: dt.date) -> tuple[dt.date, ...]:
    return (date.replace(month=date.day, day=date.month),) if date.day <= 12 and date.day != date.month else ()


def _slashed(date: dt.date, place: Locale) -> list[Form]:
    y, m, d = date.year, date.month, date.day
    first, second = (m, d) if place.region == "US" else (d, m)
    also = _swapped(date)
    return [
        Form("slashed", f"{first:02}/{second:02}/{y}", also=also),
        Form("slashed-short", f"{first}/{second}/{y % 100:02}", also=also),
    ]


def dates(date: dt.date, place: Locale) -> list[Form]:
    language = place.language
    forms = [Form("iso", date.isoformat())]
    forms += _eastern_dates(date, language) if place.east else _western_dates(date, place)
    gap = (date - place.today).days
    if 0 <= gap <= 2:
        forms += [Form("relative", SOON[language][gap], "t", (date,))] * 4
    if 0 <= gap < 250:
        forms.append(_without_year(date, language))
    return forms


def _without_year(date: dt.date, language: str) -> Form:
    m, d = date.month, date.day
    text = {
        "en": lambda: f"{MONTHS['en'][m - 1]} {_ordinal(d)}",
        "de": lambda: f"{d}. {MONTHS['de'][m - 1]}",
        "es": lambda: f"{d} de {MONTHS['es'][m - 1]}",
        "fr": lambda: f"{'1er' if d == 1 else d} {MONTHS['fr'][m - 1]}",
        "pt": lambda: f"{d} de {MONTHS['pt'][m - 1]}",
        "zh": lambda: f"{m}月{d}日",
        "ja": lambda: f"{m}月{d}日（{DAYS['ja'][date.weekday()]}）",
    }[language]()
    return Form("no year", text, "pt")


def _western_dates(date: dt.date, place: Locale) -> list[Form]:
    y, m, d = date.year, date.month, date.day
    language = place.language
    month, short, day = MONTHS[language][m - 1], SHORT[language][m - 1], DAYS[language][date.weekday()]
    slashed = _slashed(date, place)
    if language == "en":
        return [
            *slashed,
            Form("day month", f"{d} {month} {y}"),
            Form("month day", f"{month} {d}, {y}"),
            Form("short month", f"{short} {d}, {y}"),
            Form("weekday", f"{day}, {month} {d}, {y}"),
            Form("ordinal-d", f"{_ordinal(d)} {month} {y}"),
            Form("ordinal-h", f"the {_ordinal(d)} of {month}, {y}", "pt"),
            Form("dashed month-h", f"{d:02}-{short[:3]}-{y}", "c"),
        ]
    if language == "de":
        return [
            Form("dotted", f"{d:02}.{m:02}.{y}"),
            Form("dotted-short", f"{d}.{m}.{y % 100:02}"),
            Form("month", f"{d}. {month} {y}"),
            Form("short month", f"{d}. {short} {y}", "c"),
            Form("weekday-d", f"{day}, {d}. {month} {y}", "c"),
            Form("weekday-h", f"{day}, dem {d}. {month} {y}", "p"),
            Form("padded month-h", f"{d:02}. {month} {y}"),
        ]
    if language == "fr":
        first = "1er" if d == 1 else str(d)
        return [
            *slashed,
            Form("month", f"{first} {month} {y}"),
            Form("short month", f"{first} {short} {y}", "c"),
            Form("weekday", f"{day} {first} {month} {y}"),
        ]
    comma = "," if language == "pt" else ""
    return [
        *slashed,
        Form("month", f"{d} de {month} de {y}"),
        Form("short month", f"{d} {short} {y}", "c"),
        Form("weekday", f"{day}{comma} {d} de {month} de {y}"),
        Form("dashed-d", f"{d}-{m}-{y}", also=_swapped(date)),
        Form("capital month-h", f"{d} de {month.capitalize()} de {y}"),
        Form("dotted-h", f"{d:02}.{m:02}.{y}"),
    ]


def _eastern_dates(date: dt.date, language: str) -> list[Form]:
    y, m, d = date.year, date.month, date.day
    day = DAYS[language][date.weekday()]
    forms = [
        Form("characters", f"{y}年{m}月{d}日"),
        Form("padded characters", f"{y}年{m:02}月{d:02}日"),
        Form("slashed", f"{y}/{m}/{d}"),
        Form("slashed padded", f"{y}/{m:02}/{d:02}", "c"),
        Form("wide", wide(f"{y}年{m}月{d}日")),
        Form("dotted", f"{y}.{m:02}.{d:02}", "c"),
    ]
    if language == "zh":
        number = f"{str(y).translate(HAN_DIGITS)}年{words(m, 'zh')}月{words(d, 'zh')}日"
        return [
            *forms,
            Form("hao", f"{y}年{m}月{d}号", "pt"),
            Form("numerals", number),
            Form("weekday-d", f"{y}年{m}月{d}日（星期{day}）"),
            Form("weekday-h", f"{y}年{m}月{d}日（周{day}）"),
        ]
    era = y - 2018
    return [
        *forms,
        Form("era", f"令和{'元' if era == 1 else era}年{m}月{d}日"),
        Form("era-short", f"R{era}.{m}.{d}", "c"),
        Form("weekday-d", f"{y}年{m}月{d}日（{day}）"),
        Form("weekday-h", f"{y}年{m}月{d}日({day}曜日)"),
    ]


# -- times ----------------------------------------------------------------------------------------------------------------------


class Clock(NamedTuple):
    hour: int
    minute: int

    def __str__(self) -> str:
        return f"{self.hour:02}:{self.minute:02}"


def _other_half(clock: Clock) -> tuple[str, ...]:
    return (str(Clock((clock.hour + 12) % 24, clock.minute)),)


def times(clock: Clock, place: Locale) -> list[Form]:
    h, m = clock
    also = _other_half(clock) if h <= 12 else ()
    digits = Form("digits", f"{h}:{m:02}" if place.language in ("en", "es") else f"{h:02}:{m:02}", "c", also)
    maker = {
        "en": _english,
        "de": _german,
        "es": _spanish,
        "fr": _french,
        "pt": _portuguese,
        "zh": _chinese,
        "ja": _japanese,
    }
    return [digits, *maker[place.language](clock)]


def _part(h: int, names: tuple[str, str, str], evening: int) -> str:
    return names[0] if h < 12 else names[1] if h < evening else names[2]


def _english(clock: Clock) -> list[Form]:
    h, m = clock
    half, also = h % 12 or 12, _other_half(clock) if h <= 12 else ()
    suffix = "am" if h < 12 else "pm"
    minutes = f":{m:02}" if m else ""
    part = _part(h, ("in the morning", "in the afternoon", "in the evening"), 18)
    forms = [
        Form("24 hours", f"{h:02}:{m:02}", also=also),
        Form("am pm", f"{half}{minutes} {suffix}"),
        Form("am pm tight", f"{half}:{m:02}{suffix}"),
        Form("AM PM", f"{half}:{m:02} {suffix.upper()}"),
        Form("a.m. p.m.-d", f"{half}{minutes} {suffix[0]}.m."),
        Form("dot-h", f"{half}.{m:02}{suffix}"),
    ]
    spoken = _english_spoken(half, m)
    if spoken:
        forms += [Form("spoken", spoken, "pt", _other_half(clock)), Form("spoken part", f"{spoken} {part}", "pt")]
    if (h, m) == (12, 0):
        forms.append(Form("noon", "noon", "pt"))
    return forms


def _english_spoken(half: int, m: int) -> str:
    now, then = words(half, "en"), words(half % 12 + 1, "en")
    exact = {0: f"{now} o'clock", 15: f"quarter past {now}", 30: f"half past {now}", 45: f"a quarter to {then}"}
    if m in exact:
        return exact[m]
    if m < 30:
        return f"{words(m, 'en')} past {now}"
    return f"{words(60 - m, 'en')} to {then}"


def _german(clock: Clock) -> list[Form]:
    h, m = clock
    half, also = h % 12 or 12, _other_half(clock) if h <= 12 else ()
    now, then = words(half, "de"), words(half % 12 + 1, "de")
    part = _part(h, ("morgens", "nachmittags", "abends"), 18)
    forms = [
        Form("Uhr", f"{h}:{m:02} Uhr", also=also),
        Form("dot Uhr", f"{h}.{m:02} Uhr", also=also),
        Form("colon", f"{h:02}:{m:02}", also=also),
    ]
    if m == 0:
        forms += [Form("Uhr full", f"{h} Uhr", also=also), Form("Uhr part-h", f"{half} Uhr {part}", "pt")]
    else:
        forms.append(Form("Uhr words-d", f"{h} Uhr {m}", "pt", also))
    spoken = {0: now, 15: f"Viertel nach {now}", 30: f"halb {then}", 45: f"Viertel vor {then}"}.get(m)
    if spoken and m:
        forms += [Form("spoken", spoken, "pt", _other_half(clock)), Form("spoken part", f"{spoken} {part}", "pt")]
    elif m in (10, 20):
        forms.append(Form("spoken", f"{words(m, 'de')} nach {now}", "pt", _other_half(clock)))
    elif m in (50, 55):
        forms.append(Form("spoken", f"{words(60 - m, 'de')} vor {then}", "pt", _other_half(clock)))
    return forms


def _spanish(clock: Clock) -> list[Form]:
    h, m = clock
    half, also = h % 12 or 12, _other_half(clock) if h <= 12 else ()
    the, then_the = ("la" if half == 1 else "las"), ("la" if half % 12 + 1 == 1 else "las")
    now, then = words(half, "es", feminine=True), words(half % 12 + 1, "es", feminine=True)
    part = _part(h, ("de la mañana", "de la tarde", "de la noche"), 20)
    suffix = "a. m." if h < 12 else "p. m."
    the24 = "la" if h == 1 else "las"
    forms = [
        Form("h", f"{h}:{m:02} h", "c", also),
        Form("dot h", f"{h}.{m:02} h", "c", also),
        Form("24 hours", f"{the24} {h}:{m:02}", "pt", also),
        Form("part", f"{the} {half}:{m:02} {part}", "pt"),
        Form("a. m.", f"{half}:{m:02} {suffix}", "c"),
        Form("a. m. article-h", f"{the} {half}:{m:02} {suffix}", "pt"),
    ]
    exact = {
        0: f"{the} {now}",
        15: f"{the} {now} y cuarto",
        30: f"{the} {now} y media",
        45: f"{then_the} {then} menos cuarto",
    }
    if m in exact:
        spoken = exact[m]
    elif m < 30:
        spoken = f"{the} {now} y {words(m, 'es')}"
    else:
        spoken = f"{then_the} {then} menos {words(60 - m, 'es')}"
    if m:
        forms.append(Form("spoken", spoken, "pt", _other_half(clock)))
    forms.append(Form("spoken part", f"{spoken} {part}", "pt"))
    return forms


def _french(clock: Clock) -> list[Form]:
    h, m = clock
    half, also = h % 12 or 12, _other_half(clock) if h <= 12 else ()
    now, then = words(half, "fr", feminine=True), words(half % 12 + 1, "fr", feminine=True)
    part = _part(h, ("du matin", "de l'après-midi", "du soir"), 18)
    forms = [
        Form("h", f"{h}h{m:02}", also=also),
        Form("h spaced", f"{h} h {m:02}" if m else f"{h} h", also=also),
        Form("heures-d", f"{h} heures {m}" if m else f"{h} heures", "pt", also),
    ]
    hours, later = ("heure" if half == 1 else "heures"), ("heure" if half % 12 + 1 == 1 else "heures")
    exact = {15: f"{now} {hours} et quart", 30: f"{now} {hours} et demie", 45: f"{then} {later} moins le quart"}
    if m in exact and half != 12 and not (half == 11 and m == 45):
        forms += [Form("spoken", exact[m], "pt", _other_half(clock)), Form("spoken part", f"{exact[m]} {part}", "pt")]
    return forms


def _portuguese(clock: Clock) -> list[Form]:
    h, m = clock
    half, also = h % 12 or 12, _other_half(clock) if h <= 12 else ()
    now, then = words(half, "pt", feminine=True), words(half % 12 + 1, "pt", feminine=True)
    part = _part(h, ("da manhã", "da tarde", "da noite"), 19)
    forms = [
        Form("h", f"{h}h{m:02}" if m else f"{h}h", also=also),
        Form("colon", f"{h}:{m:02}", also=also),
        Form("part-h", f"{half}h{m:02} {part}" if m else f"{half}h {part}", "pt"),
    ]
    if m == 30:
        spoken = f"{now} e meia"
        forms += [Form("spoken", spoken, "pt", _other_half(clock)), Form("spoken part", f"{spoken} {part}", "pt")]
    elif m == 15:
        forms.append(Form("spoken part", f"{now} e quinze {part}", "pt"))
    elif m == 45:
        forms.append(Form("spoken", f"quinze para {'a' if then == 'uma' else 'as'} {then}", "pt", _other_half(clock)))
    return forms


def _chinese(clock: Clock) -> list[Form]:
    h, m = clock
    half, also = h % 12 or 12, _other_half(clock) if h <= 12 else ()
    part = _part(h, ("上午", "下午", "晚上"), 18)
    digits = f"{half}点{m:02}分" if m else f"{half}点"
    said = "两" if half == 2 else words(half, "zh")
    tail = {0: "", 15: "一刻", 30: "半", 45: "三刻"}.get(m, ("零" if m < 10 else "") + words(m, "zh") + "分")
    return [
        Form("colon", f"{h:02}:{m:02}", also=also),
        Form("part digits", f"{part}{digits}"),
        Form("part colon", f"{part}{half}:{m:02}"),
        Form("24 hours", f"{h}点{m:02}分" if m else f"{h}点整", also=also),
        Form("spoken part", f"{part}{said}点{tail}", "pt"),
        Form("hour character-h", f"{h}时{m:02}分" if m else f"{h}时", also=also),
        Form("wide-d", wide(f"{h:02}:{m:02}"), also=also),
    ]


def _japanese(clock: Clock) -> list[Form]:
    h, m = clock
    half, also = h % 12, _other_half(clock) if h <= 12 else ()
    if h == 12:
        half = 0
    part = "午前" if h < 12 else "午後"
    minutes = f"{m}分" if m else ""
    forms = [
        Form("colon", f"{h:02}:{m:02}", also=also),
        Form("24 hours", f"{h}時{minutes}", also=also),
        Form("part", f"{part}{half}時{minutes}"),
        Form("wide", wide(f"{h:02}:{m:02}"), also=also),
        Form("part colon-h", f"{part}{half}:{m:02}"),
    ]
    if m == 30:
        forms.append(Form("half", f"{part}{half}時半"))
    if half:
        forms.append(Form("numerals-d", f"{part}{words(half, 'ja')}時{words(m, 'ja') + '分' if m else ''}", "pt"))
    return forms


# -- whole numbers and strings ----------------------------------------------------------------------------------------------------


def grouped(n: int, place: Locale) -> str:
    return f"{n:,}".replace(",", place.group)


def integers(n: int, place: Locale, key: str) -> list[Form]:
    feminine = key in ("people", "rooms", "quantity", "stock", "employees")
    forms = [Form("digits", str(n))]
    if n >= 1000:
        forms += [Form("grouped", grouped(n, place))] * 2
    if place.east:
        forms.append(Form("wide", wide(str(n))))
    said = words(n, place.language, feminine=feminine)
    if place.language == "zh" and n == 2:
        said = "两"
    elif n == 1 or (place.language == "de" and n % 100 == 1):
        return forms
    if n <= 20:
        forms += [Form("words", said, "pt")] * 3
    elif n <= 99 or n % 100 == 0:
        forms.append(Form("words", said, "pt"))
    if place.language == "en" and n == 12:
        forms.append(Form("dozen-h", "a dozen", "t"))
    return forms


QUOTED = {
    "en": ("“{}”", '"{}"', "‘{}’"),
    "de": ("„{}“", "»{}«", '"{}"'),
    "es": ("«{}»", "“{}”", '"{}"'),
    "fr": ("« {} »", "“{}”", '"{}"'),
    "pt": ("“{}”", "«{}»", '"{}"'),
    "zh": ("“{}”", "「{}」", "《{}》"),
    "ja": ("「{}」", "『{}』", "“{}”"),
}
HALF_KATAKANA = {
    chr(full): half
    for full, half in zip(
        [
            ord(c)
            for c in "アイウエオカキクケコサシスセソタチツテトナニヌネノハヒフヘホマミムメモヤユヨラリルレロワヲンァィゥェォャュョッー・"
        ],
        "ｱｲｳｴｵｶｷｸｹｺｻｼｽｾｿﾀﾁﾂﾃﾄﾅﾆﾇﾈﾉﾊﾋﾌﾍﾎﾏﾐﾑﾒﾓﾔﾕﾖﾗﾘﾙﾚﾛﾜｦﾝｧｨｩｪｫｬｭｮｯｰ･",
        strict=True,
    )
}
MISREAD = {"l": "1", "o": "0", "e": "c", "n": "r", "a": "o", "i": "l", "t": "f", "u": "v", "h": "b"}


def half_width(text: str) -> str:
    out = []
    for char in text:
        base, *marks = unicodedata.normalize("NFD", char)
        out.append(HALF_KATAKANA.get(base, base) + "".join({"\u3099": "ﾞ", "\u309a": "ﾟ"}.get(mark, mark) for mark in marks)
                   if base in HALF_KATAKANA else char)  # fmt: skip
    return "".join(out)


def misread(text: str, chance: Random) -> str:
    """One letter of a long string taken for another, as by a scanner; never the first of a word."""
    places = [at for at, char in enumerate(text) if char in MISREAD and at and text[at - 1].isalpha()]
    if not places:
        return text
    at = chance.choice(places)
    return text[:at] + MISREAD[text[at]] + text[at + 1 :]


def strings(text: str, place: Locale, chance: Random) -> list[Form]:
    forms = [Form("plain", text)] * 4
    if place.east:
        forms.append(Form("quoted", chance.choice(QUOTED[place.language]).format(text), "p"))
        narrow = half_width(text)
        if narrow != text:
            forms.append(Form("half width", narrow, "c"))
        return forms
    forms += [
        Form("upper", text.upper(), "c"),
        Form("capital", text[:1].upper() + text[1:]),
        Form("quoted", chance.choice(QUOTED[place.language]).format(text), "p"),
    ]
    if bare(text) != text:
        forms += [Form("no accents", bare(text)), Form("decomposed-h", unicodedata.normalize("NFD", text))]
    if " " in text:
        forms.append(Form("spaces", text.replace(" ", chance.choice(("  ", "\u00a0", "\n")), 1), "p"))
    if len(text) >= 20:
        forms.append(Form("misread", misread(text, chance)))
        long = max(text.split(), key=len)
        if len(long) >= 9 and long.isalpha():
            forms.append(Form("hyphenated", text.replace(long, f"{long[:5]}-\n{long[5:]}", 1), "p"))
    return forms
