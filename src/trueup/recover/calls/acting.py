"""Where a call stands: does the reply act there, or does it talk about a call (X16)?

A text and a stretch of it enter; a yes or no leaves. An example, a quotation, a listing, an instruction to the reader
is no call. A bounded stretch before and behind is looked at, in English and in Spanish.
"""

import re

from trueup.recover.calls.marks import UNTHINK

_WINDOW = 400
_FAR = 10_000  # a code block that was opened further back is not seen
_SAID = 240  # of a sentence without an end, so much is looked at
_ME = re.compile(
    r"\b(?:I['’]ll|I will|I['’]m going to|I am going to|let me|let['’]s|I need to|I have to|I must|now I|I should|calling|"
    r"voy a|vamos a|d[ée]jame|perm[ií]teme|necesito|debo|llamando|har[ée]|llamar[ée]|usar[ée])\b",
    re.IGNORECASE,
)
_SURE = re.compile(
    r"(?:sure(?: thing)?|ok(?:ay)?|certainly|of course|absolutely|alright|right away|got it|claro(?: que s[íi])?|vale|por supuesto|"
    r"de acuerdo|enseguida)[.!…]{1,3}",
    re.IGNORECASE,
)
# What talks about a call, marked or not.
_TALK = re.compile(
    r"\b(?:for example|for instance|examples?|sample|hypothetical(?:ly)?|imagine|suppose|"
    r"por ejemplo|ejemplos?|muestra|imagina|supongamos|"
    r"(?:looks?|something|just) like|would (?:look|be|call|write|use|send|say)|could (?:look|be|call|write|use|send)|"
    r"ser[íi]a|podr[íi]as?|tendr[íi]a|se ve(?:r[íi]a)? as[íi]|"
    r"(?:you|one|users?|developers?|people) (?:can|could|should|may|might|must|would|need to|have to|want to)|"
    r"one (?:calls|writes|uses|sends)|you(?:['’]d)? (?:just |simply |then )?(?:call|invoke|write)|"
    r"(?:is|are) how|in your (?:code|script|program|app)|"
    r"puedes?|pueden|deber[íi]as?|debes|tienes que|en tu (?:c[óo]digo|programa)|"
    r"(?:don['’]t|do not|never|instead of|rather than) (?:call|use|write|send|run|execute|invoke|calling|using|writing|sending|running)|"
    r"(?:no|nunca) (?:llames|uses|escribas|env[íi]es|ejecutes|invoques|mandes)|en (?:lugar|vez) de|"
    r"(?:users?|customer|client|they|he|she|someone|model|assistant|log|page|message) (?:said|wrote|typed|pasted|sent|produced|printed|says|reads|shows)|"
    r"(?:usuario|cliente|modelo|mensaje) (?:dijo|escribi[óo]|peg[óo]|envi[óo]|produjo|dice)|dijo|escribi[óo]|"
    r"(?:is|are|was|were|gets?|be) (?:called|written|invoked|expressed|formatted|quoted)|se (?:llama|escribe|invoca|expresa)|"
    r"(?:the )?(?:call )?(?:format|syntax|schema|structure|signature)(?: is| of| for|:|$)|following (?:format|syntax|structure|pattern)|"
    r"(?:el |la )?(?:formato|sintaxis|esquema|estructura)(?: es| de| para|:|$)|"
    r"(?:call|request|message|output|reply)s? (?:was|were)|(?:llamada|mensaje|respuesta)s? (?:fue|era)|documentation|tutorial|README|documentaci[óo]n|means|significa)\b|\be\.g\.|\bp\. ?ej\.",
    re.IGNORECASE,
)
# What talks about a call that carries no mark of its own.
_LOOSE = re.compile(
    r"\b(?:such as|would|could|might|if you|when you|si (?:quieres|necesitas)|like|como|"
    r"you(?:['’]d)? (?:just |simply |then )?(?:send|run|pass|post|use)|(?:har|llamar|enviar|usar|escribir)[íi]as?|templates?|plantillas?|"
    r"(?:this|the following|esta|la siguiente) (?:shape|form|structure|forma|estructura)|(?:valid|minimal|typical) (?:payload|request|body)|"
    r"(?:available|supported|possible) (?:tools?|functions?|calls?|commands?)|(?:herramientas|funciones|llamadas|[óo]rdenes) (?:disponibles|posibles)|"
    r"forbidden|prohibited|not allowed|deprecated|prohibid[oa]s?|"
    r"previous(?:ly)?|earlier|last (?:call|time)|anterior(?:mente)?|quote[ds]?|cita|failed|fall[óo]|rejected|"
    r"(?:tool|function) (?:outputs?|results?|responses?)|resultados?|"
    r"said|wrote|typed|pasted|produced|printed|logged|replied|responded|docs|how to|c[óo]mo)\b",
    re.IGNORECASE,
)
# What speaks of calls as such, in whatever sentence it stands.
_TALK_OF_CALLS = re.compile(
    r"\b(?:example|sample|ejemplo)s?\b[^.!?\n]{0,60}\b(?:calls?|tools?|functions?|invocations?|requests?|llamadas?|herramientas?|funci[óo]n|uso)\b"
    r"|\b(?:calls?|tools?|functions?|usage|llamadas?|herramientas?)\b[^.!?\n]{0,60}\b(?:examples?|samples?|ejemplos?|looks? like|format|syntax|formato|sintaxis)\b",
    re.IGNORECASE,
)
# A label of what was called before.
_BEFORE = re.compile(
    r"[#*_\s]{0,8}(?:(?:earlier|previous|prior|past) (?:tool |function )?calls?|llamadas? (?:anterior|previa)(?:es|s)?)[*_]{0,2}[:：][*_]{0,2}",
    re.IGNORECASE,
)
# An order to the reader: the reply tells how to call instead of calling.
_ORDER = re.compile(
    r"(?:^|[.!?:;,]\s+|\bthen |\band |\bto [^,\n]{1,80}, )(?:please |simply |just )?(?:(?:respond|reply|answer) with|call|use|send|write|type|invoke|run|try|execute|paste|submit|post|"
    r"(?:responde|contesta) con|usa|utiliza|llama|escribe|env[íi]a|ejecuta|invoca|prueba|pega)\b(?!\s*$)[^.!?\n]{0,80}[:：]?$",
    re.IGNORECASE,
)
_GOES_ON = re.compile(
    r"[ \t]*[`\"'”»)]*[ \t]*(?:is|was|are|were|would|could|will|should|means|returns?|returned|es|fue|era|son|ser[íi]a|"
    r"devuelve|significa)\b"
)
_GOES_ON_LOOSE = re.compile(
    r"[ \t]*[`\"'”»)]*[ \t]*(?:and|or|to|as|which|that|in|when|but|for|with|because|y|o|para|que|cuando|pero|en|porque)\b"
)
_REMARK = re.compile(
    r"\W{0,8}(?:(?:this|that|the above|above|it|which|esto|eso|lo anterior|ese|este)\b[^.!?\n]{0,40}\b(?:is|was|are|would|could|shows?|illustrates?|"
    r"es|ser[íi]a|muestra|ilustra)\b[^.!?\n]{0,40}\b(?:example|sample|how|format|syntax|illustration|ejemplo|c[óo]mo|formato|sintaxis|call|calls|llamar[íi]a)"
    r"|(?:this|that|the above|it|esto|eso|lo anterior) (?:would|could|llamar[íi]a|devolver[íi]a|har[íi]a)\b|replace\b|reemplaza\b|sustituye\b"
    r"|where [`\"']|donde [`\"'])",
    re.IGNORECASE,
)
_NOT_ME = re.compile(r"\b(?:examples?|ejemplos?|would|could|ser[íi]a|said|wrote|dijo)\b", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!?。])\s+")
# Tags, tokens and fences right before a call wrap it and say nothing.
_WRAP = re.compile(
    r"(?:(?P<tag></?[\w:｜-]{1,40}>)|(?P<token><[|｜][^<>\n]{1,60}[|｜]>|\[[A-Z_]{4,20}\])"
    r"|(?P<fence>(?:(?<=\n)|\A)[ \t]*(?:`{3,9}|~{3,9})[\w+-]{0,20})|(?P<role>(?<=>)(?:assistant|function)))\s*\Z"
)
_TAGS_BEHIND = re.compile(r"(?:[ \t]*(?:</?[\w:-]{1,40}>|<[|｜][^<>\n]{1,60}[|｜]>))*")
# Inside of these it is told what came back, or what somebody else said.
_TOLD = re.compile(r"<(?:examples?|user|quote|blockquote|doc|document)>|\[AVAILABLE_TOOLS\]", re.IGNORECASE)
_LIST_ITEM = re.compile(r"[ \t]*(?:[-*+•]|\d{1,3}[.)]|[a-z]\))[ \t]")
# A heading, or a word before a call, that says it is one.
_LABEL = re.compile(
    r"[#*_\s]{0,8}(?:(?:tool|function)[ _-]?(?:calls?|use|request)|calling\b[^.!?\n]{0,60}|action|response|answer|output|"
    r"(?:llamada|uso)[^.!?\n]{0,40}|acci[óo]n|respuesta)[:：]?[*_\s]{0,4}",
    re.IGNORECASE,
)
_HEADING = re.compile(r"[ \t]*(?:#{1,6}\s|\*\*[^*\n]{1,80}\*\*:?\s*$|__)")
_QUOTES = "\"'“”‘’«»`("


def acts(text: str, start: int, stop: int, marked: bool, since: int = 0) -> bool:
    """Whether the reply makes the call that stands there; `since` is where the call before it ended.

    >>> acts("Let me look.\\nf(a=1)", 13, 19, False), acts("For example:\\nf(a=1)", 13, 19, False)
    (True, False)
    """
    said = UNTHINK.split(text[max(since, start - _WINDOW, 0) : start])[-1]
    bare, told = _unwrapped(said)
    above, _, before = bare.rpartition("\n")
    if "\n" in said[len(bare) :]:
        above, before = bare, ""
    if told or _quoted(before):
        return False
    before = before.strip()
    before = "" if before == "json" else before  # the word of a fence that got lost
    if before and not marked and not before.endswith((":", "：")) and not _says_and_does(before, text, stop):
        return False
    if not before and not marked and _among_code(above, text, start):
        return False
    if _goes_on(text[stop : stop + _WINDOW], marked, bool(before)):
        return False
    return not _talks(before or above.rstrip(), marked, bool(before))


def _says_and_does(before: str, text: str, stop: int) -> bool:
    """Whether a reply says what it will do, and the call ends it: "I will look that up. {…}", "Sure! {…}"."""
    if before[-1] not in ".!…" or text[stop : stop + _WINDOW].strip():
        return False
    last = _SENTENCE.split(before)[-1][-_SAID:]
    return _SURE.fullmatch(last) is not None or _ME.search(last) is not None


def _unwrapped(said: str) -> tuple[str, bool]:
    """The words before a call without the tags, tokens and fences that wrap it; whether a tag says it is only told."""
    for _ in range(8):
        wrap = _WRAP.search(said)
        if wrap is None:
            break
        if (wrap["tag"] or wrap["token"]) and _TOLD.fullmatch(wrap[0].rstrip()):
            return said, True
        said = said[: wrap.start()]
    return said, False


def _goes_on(behind: str, marked: bool, inline: bool) -> bool:
    """Whether the words behind a call make it part of a sentence, or say that it was an example."""
    same_line, _, further = behind[_TAGS_BEHIND.match(behind).end() :].partition("\n")  # type: ignore[union-attr]
    if _GOES_ON.match(same_line) or same_line.strip(" \t`*_").startswith("?"):
        return True
    rest = same_line.strip(" \t\r`;.,])}")
    rest = "" if rest.startswith(">>>") else rest  # the next call, as Functionary writes it
    if not marked and (_GOES_ON_LOOSE.match(same_line) or (rest and not inline)):
        return True
    return _REMARK.match(same_line if rest else further.lstrip("\n` ")) is not None


def _among_code(above: str, text: str, start: int) -> bool:
    """Whether the line stands in a code block with other code above it."""
    far = max(0, start - _FAR)
    if not above.strip() or text.count("```", far, start) % 2 == 0:
        return False
    opened = text.rfind("```", far, start)
    return bool(text[text.find("\n", opened) : start].strip())


def _quoted(before: str) -> bool:
    """In quotes, in a code span, in a quotation or an item of a list."""
    if before.lstrip().startswith(">") or _LIST_ITEM.match(before) or before.lstrip().startswith("|"):
        return True
    if before.replace("```", "").count("`") % 2:
        return True
    return before[-1:] != "" and before[-1] in _QUOTES and not before.endswith("```")


def _talks(lead: str, marked: bool, same_line: bool) -> bool:
    """Whether the words before a call talk about calling."""
    if not lead:
        return False
    paragraph = lead.rsplit("\n\n", 1)[-1]
    line = paragraph.rsplit("\n", 1)[-1]
    if _HEADING.match(line):
        return (not marked and _LABEL.fullmatch(line) is None) or _TALK.search(line) is not None
    sentence = _SENTENCE.split(line.strip())[-1][-_SAID:]
    open_ended = same_line or sentence.endswith((":", "：", ",", "-", "—")) or sentence[-1:].isalnum()
    if _TALK_OF_CALLS.search(sentence) or _BEFORE.fullmatch(sentence):
        return True
    if not open_ended:
        return False
    if _TALK.search(sentence) or (not marked and _LOOSE.search(sentence)):
        return not (_ME.search(sentence) and not _NOT_ME.search(sentence))
    return _ORDER.search(sentence) is not None and not _ME.search(sentence)
