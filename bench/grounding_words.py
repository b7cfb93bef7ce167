"""Whole numbers as people say them: a number and a language enter, the words leave. Up to 9,999,999 (Chinese and Japanese: 99,999,999)."""

from collections.abc import Callable

EN = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen"
).split()
EN_TENS = "- - twenty thirty forty fifty sixty seventy eighty ninety".split()
DE = (
    "null ein zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn "
    "siebzehn achtzehn neunzehn"
).split()
DE_TENS = "- - zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig".split()
ES = (
    "cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince dieciséis diecisiete "
    "dieciocho diecinueve veinte veintiuno veintidós veintitrés veinticuatro veinticinco veintiséis veintisiete "
    "veintiocho veintinueve"
).split()
ES_TENS = "- - - treinta cuarenta cincuenta sesenta setenta ochenta noventa".split()
ES_HUNDREDS = "- ciento doscient trescient cuatrocient quinient seiscient setecient ochocient novecient".split()
FR = (
    "zéro un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize dix-sept dix-huit "
    "dix-neuf"
).split()
FR_TENS = "- - vingt trente quarante cinquante soixante".split()
PT = (
    "zero um dois três quatro cinco seis sete oito nove dez onze doze treze catorze quinze dezesseis dezessete "
    "dezoito dezenove"
).split()
PT_TENS = "- - vinte trinta quarenta cinquenta sessenta setenta oitenta noventa".split()
PT_HUNDREDS = "- cento duzent trezent quatrocent quinhent seiscent setecent oitocent novecent".split()
HAN = "〇一二三四五六七八九"


def english(n: int, *, feminine: bool = False) -> str:  # noqa: ARG001 - all languages alike
    if n < 20:
        return EN[n]
    if n < 100:
        return EN_TENS[n // 10] + (f"-{EN[n % 10]}" if n % 10 else "")
    if n < 1000:
        return f"{EN[n // 100]} hundred" + (f" and {english(n % 100)}" if n % 100 else "")
    if n < 1_000_000:
        rest = n % 1000
        link = " and " if 0 < rest < 100 else " "
        return f"{english(n // 1000)} thousand" + (link + english(rest) if rest else "")
    return f"{english(n // 1_000_000)} million" + (f" {english(n % 1_000_000)}" if n % 1_000_000 else "")


def german(n: int, *, feminine: bool = False) -> str:  # noqa: ARG001 - all languages alike
    if n == 1:
        return "eins"
    return _german(n)


def _german(n: int) -> str:
    if n < 20:
        return DE[n]
    if n < 100:
        return (f"{DE[n % 10]}und" if n % 10 else "") + DE_TENS[n // 10]
    if n < 1000:
        return f"{'ein' if n < 200 else DE[n // 100]}hundert" + (german(n % 100) if n % 100 else "")
    if n < 1_000_000:
        return f"{_german(n // 1000)}tausend" + (german(n % 1000) if n % 1000 else "")
    millions = n // 1_000_000
    head = "eine Million" if millions == 1 else f"{_german(millions)} Millionen"
    return head + (f" {german(n % 1_000_000)}" if n % 1_000_000 else "")


def spanish(n: int, *, feminine: bool = False) -> str:
    if n < 30:
        return ES[n][:-1] + "a" if feminine and n % 10 == 1 and n != 11 else ES[n]
    if n < 100:
        return ES_TENS[n // 10] + (f" y {spanish(n % 10, feminine=feminine)}" if n % 10 else "")
    if n == 100:
        return "cien"
    if n < 1000:
        hundred = ES_HUNDREDS[n // 100] + ("" if n < 200 else "as" if feminine else "os")
        return hundred + (f" {spanish(n % 100, feminine=feminine)}" if n % 100 else "")
    if n < 1_000_000:
        head = "mil" if n < 2000 else f"{spanish(n // 1000, feminine=feminine)} mil"
        return head + (f" {spanish(n % 1000, feminine=feminine)}" if n % 1000 else "")
    millions = n // 1_000_000
    head = "un millón" if millions == 1 else f"{spanish(millions)} millones"
    return head + (f" {spanish(n % 1_000_000, feminine=feminine)}" if n % 1_000_000 else "")


def french(n: int, *, feminine: bool = False) -> str:
    if n < 20:
        return "une" if feminine and n == 1 else FR[n]
    if n < 70:
        tens, one = FR_TENS[n // 10], n % 10
        return tens if not one else f"{tens} et {french(1, feminine=feminine)}" if one == 1 else f"{tens}-{FR[one]}"
    if n < 80:
        return "soixante et onze" if n == 71 else f"soixante-{FR[n - 60]}"
    if n < 100:
        return "quatre-vingts" if n == 80 else f"quatre-vingt-{french(n - 80, feminine=feminine)}"
    if n < 1000:
        head = "cent" if n < 200 else f"{FR[n // 100]} cent" + ("" if n % 100 else "s")
        return head + (f" {french(n % 100, feminine=feminine)}" if n % 100 else "")
    if n < 1_000_000:
        head = (
            "mille"
            if n < 2000
            else f"{french(n // 1000).removesuffix('s') if n % 100_000 < 1000 else french(n // 1000)} mille"
        )
        return head + (f" {french(n % 1000, feminine=feminine)}" if n % 1000 else "")
    millions = n // 1_000_000
    head = "un million" if millions == 1 else f"{french(millions)} millions"
    return head + (f" {french(n % 1_000_000, feminine=feminine)}" if n % 1_000_000 else "")


def portuguese(n: int, *, feminine: bool = False) -> str:
    if n < 20:
        return {1: "uma", 2: "duas"}.get(n, PT[n]) if feminine else PT[n]
    if n < 100:
        return PT_TENS[n // 10] + (f" e {portuguese(n % 10, feminine=feminine)}" if n % 10 else "")
    if n == 100:
        return "cem"
    if n < 1000:
        head = PT_HUNDREDS[n // 100] + ("" if n < 200 else "as" if feminine else "os")
        return head + (f" e {portuguese(n % 100, feminine=feminine)}" if n % 100 else "")
    if n < 1_000_000:
        head = "mil" if n < 2000 else f"{portuguese(n // 1000, feminine=feminine)} mil"
        rest = n % 1000
        link = " e " if 0 < rest <= 100 or rest % 100 == 0 else " "
        return head + (link + portuguese(rest, feminine=feminine) if rest else "")
    millions = n // 1_000_000
    head = "um milhão" if millions == 1 else f"{portuguese(millions)} milhões"
    return head + (f" {portuguese(n % 1_000_000, feminine=feminine)}" if n % 1_000_000 else "")


def _han_thousands(n: int, zero: str, *, one: bool) -> str:
    """Up to 9,999; `one` says 一十 and 一百, `zero` stands for skipped places."""
    text, gap = "", False
    for size, name in ((1000, "千"), (100, "百"), (10, "十"), (1, "")):
        digit, n = divmod(n, size)
        if not digit:
            gap = bool(text)
            continue
        text += (zero if gap and text else "") + ("" if digit == 1 and name and not one else HAN[digit]) + name
        gap = False
    return text


def chinese(n: int, *, feminine: bool = False) -> str:  # noqa: ARG001 - all languages alike
    if n == 0:
        return "零"
    if n < 20:
        return "十" + (HAN[n - 10] if n > 10 else "") if n >= 10 else HAN[n]
    head, rest = divmod(n, 10_000)
    if not head:
        return _han_thousands(rest, "零", one=True)
    big = chinese(head) + "万"
    if not rest:
        return big
    return big + ("零" if rest < 1000 else "") + _han_thousands(rest, "零", one=True)


def japanese(n: int, *, feminine: bool = False) -> str:  # noqa: ARG001 - all languages alike
    if n == 0:
        return "零"
    head, rest = divmod(n, 10_000)
    return (_han_thousands(head, "", one=False) + "万" if head else "") + _han_thousands(rest, "", one=False)


WORDS: dict[str, Callable[..., str]] = {
    "en": english,
    "de": german,
    "es": spanish,
    "fr": french,
    "pt": portuguese,
    "zh": chinese,
    "ja": japanese,
}


def words(n: int, language: str, *, feminine: bool = False) -> str:
    return WORDS[language](n, feminine=feminine)
