"""Words behind a value with which a model takes it back, in the languages it is most often done in.

The words behind a value enter; whether they take it back leaves. A remark on what was mended, on an earlier message or on
the source takes nothing back. `may_withdraw` of `wrappers` knows a word of each of the ways to say it.
"""

import re

_STARTS = r"(?:\A|\n|[.!?] )[\s*_#>`~]*+"
_PAUSE = r"[\s,.!:;…–—-]+"
_NOT_SO = r"(?:(?:actually|clearly|still|just|simply|also) )?(?:wrong|incorrect|not (?:right|correct)|a mistake|an error)\b(?! in (?:the|your))"
_FINE = (
    r"(?! (?:fine|okay|ok|right|correct|it|all|good|noted|read|treated|enough|everything|sufficient|valid|what|the|your|useful|helpful"
    r"|clear|easy|possible|done|in|able|used|checked|verified|reviewed|taken|kept|considered|safe|complete)\b)"
)
_EARLIER = r"(?! (?:your|the|it) (?:first|earlier|previous|last)| earlier| before| at first)"
_HEADLINE = (
    r"(?:correction|erratum|errata|korrektur|berichtigung|rectification|corrección|rectificación|correzione|correção)[*_ ]*+:"
    r"(?!\W*(?:none|n/a|kein\w*|fixed|removed|added|typos?|spelling|i (?:fixed|changed|removed|added))\b)"
)
_SAYS = [
    # English
    r"(?:(?:oh|no|ah|oops|whoops|hmm+|sorry|apologies|actually|wait|hold on|my (?:mistake|error|apologies))" + _PAUSE + "){1,4}"
    r"(?:(?:that|this|it|the \w+(?: \w+)?)(?: above)?"
    r"(?:(?:'s| is| was) " + _NOT_SO + r"| (?:should|must) (?:\w+ )?(?:be|have been)\b" + _FINE + ")"
    r"|the (?:correct|right) \w+ (?:is|was|should|would)\b|i (?:misread|miscounted|miscalculated|misspoke|meant)\b" + _EARLIER +
    r"|scratch that\b|i need to (?:re)?check\b)",
    r"scratch that\b",
    r"(?:please )?(?:ignore|disregard) (?:the |that |this )?(?:(?:json|value|object|answer|output|result|response) )?above\b(?! if)",
    _HEADLINE,
    # German
    r"(?:(?:oh|nein|moment(?: mal)?|halt|stopp|warte|ups|sorry|entschuldigung|entschuldige|verzeihung)" + _PAUSE + "){1,3}"
    r"(?:das|dies|hier|da|der|die|ich)\b(?:(?!kein|im original)[^.!?\n]){0,40}\b"
    r"(?:falsch|nicht (?:richtig|korrekt)|ein fehler (?:unterlaufen|passiert)|einen fehler gemacht|vertan|geirrt|verzählt|verlesen|verrechnet)\b",
    # French
    r"(?:(?:oh|non|oups|attendez|attends|pardon|désolée?|excusez-moi)" + _PAUSE + "){1,3}"
    r"(?:je me suis tromp|j'ai fait une erreur|c'est (?:faux|incorrect|une erreur)|il y a une erreur(?! dans)|la valeur correcte est)",
    # Spanish
    r"(?:(?:oh|no|ups|espera|espere|perdón|perdona|disculpa|disculpe|lo siento)" + _PAUSE + "){1,3}"
    r"(?:me (?:he )?equivo|cometí un error|eso (?:es|está|era|estaba) (?:incorrecto|mal|equivocado)"
    r"|(?:el|la|lo) (?:\w+ )?correct[oa]s? (?:es|son|sería))",
    # Italian, Portuguese
    r"(?:(?:oh|no|aspetta|scusa|scusami|scusate|espera|espere|desculpe|desculpa)" + _PAUSE + "){1,3}"
    r"(?:mi sono sbagliat|ho (?:fatto|commesso) un errore|me enganei|cometi um erro)",
]  # fmt: skip
_ASIAN = [
    r"(?:等等|等一下|抱歉|不对|对不起|上面|以上|上述)(?:(?!之前|先前|此前|上次|如|若|是否)[^。\n]){0,16}(?:错了|有误|是错的|不正确|有错误)",
    r"(?:更正|订正|訂正|勘误)[*\s]*[:：]",
    r"(?:申し訳|すみません|失礼)[^\n]{0,16}(?:間違えました|間違えてい|間違っていました|誤りがありました|正しくは)",
]
_RETRACTED = re.compile(
    f"{_STARTS}(?:{'|'.join(_SAYS)})|\\A[\\s`~*#]*+(?:{'|'.join(_ASIAN)})", re.IGNORECASE | re.ASCII
)


def retracts(said: str) -> bool:
    """Whether words right behind a value take it back, whatever else they say.

    >>> retracts("Sorry, I misread the table. It is 2."), retracts("Sorry for the delay. It is 2.")
    (True, False)
    """
    return _RETRACTED.search(said) is not None
