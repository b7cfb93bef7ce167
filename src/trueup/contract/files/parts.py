"""The shapes of the parts of a contract that concern meaning: rules, the reply's worth, scores, states.

A test compares their keys with the keys that the rooms themselves accept, so that the two agree.
"""

from typing import Any

from trueup.checks.fields import TYPES
from trueup.checks.quality import BELOW as LOW_QUALITY
from trueup.checks.relevance import BELOW as LOW_RELEVANCE
from trueup.checks.reply import MIN_TEXT
from trueup.expressions.work import BUDGET

Shape = dict[str, Any]

TEXT: Shape = {"type": "string"}
TEXTS: Shape = {"anyOf": [TEXT, {"type": "array", "items": TEXT}]}
SWITCH: Shape = {"type": "boolean"}


def mapping(properties: dict[str, Shape], description: str = "", **more: Any) -> Shape:
    """An object with exactly these keys."""
    about = {"description": description} if description else {}
    return {"type": "object", **about, "properties": properties, "additionalProperties": False, **more}


def some(shape: Shape) -> Shape:
    """One value of a shape, or a list of them."""
    return {"anyOf": [shape, {"type": "array", "items": shape}]}


def said(shape: Shape, description: str, **more: Any) -> Shape:
    """A shape with a sentence for editors, and its `default` if there is one."""
    return {**shape, "description": description, **more}


LEVEL = {"enum": ["error", "warning"], "description": "Whether it refuses a reply or only warns.", "default": "error"}
EXPRESSION = said(TEXT, "A Python expression over the fields of the value.")

RULE: Shape = {
    "anyOf": [
        EXPRESSION,
        mapping(
            {
                "name": said(TEXT, "The rule's name in findings and records; by default the expression."),
                "expr": EXPRESSION,
                "error": said(TEXT, "The message if the rule is broken; {field} stands for a value."),
                "level": LEVEL,
                "when": said(TEXT, "The rule is skipped unless this is true."),
            },
            "One rule.",
            required=["expr"],
        ),
    ]
}

RULES: Shape = {
    "anyOf": [
        {"type": "array", "items": RULE},
        mapping(
            {
                "required": {
                    "type": "array",
                    "items": TEXT,
                    "description": "Fields that must be present and not null.",
                },
                "types": {
                    "type": "object",
                    "additionalProperties": {"enum": sorted(TYPES)},
                    "description": "The type of each field.",
                },
                "ranges": {
                    "type": "object",
                    "additionalProperties": {"type": ["array", "object"]},
                    "description": "[lowest, highest] of each field, both included; null leaves an end open.",
                },
                "enums": {
                    "type": "object",
                    "additionalProperties": {"type": "array"},
                    "description": "The values that each field may have; upper and lower case are the same.",
                },
                "rules": {"type": "array", "items": RULE, "description": "Rules between fields."},
                "budget": {
                    "type": "integer",
                    "minimum": 1,
                    "description": "The steps one expression may take.",
                    "default": BUDGET,
                },
            },
            "Simple checks and rules.",
        ),
    ],
}

REPLY_RULE: Shape = mapping(
    {
        "name": said(TEXT, "The rule's name in logs."),
        "expr": said(
            TEXT, "An expression that must be true of the reply: text, length, calls, first, question, state, data."
        ),
        "reason": said(TEXT, "The reason that is reported if a reply breaks the rule."),
        "hint": said(TEXT, "The hint that is sent to the model."),
        "on": said(SWITCH, "Whether the rule is switched on.", default=True),
    },
    "A rule of your own.",
    required=["name", "expr"],
)

REPLY: Shape = {
    "anyOf": [
        SWITCH,
        mapping(
            {
                "no_message": said(SWITCH, "Refuse a response without an assistant message.", default=True),
                "no_empty": said(SWITCH, "Refuse an empty reply.", default=True),
                "no_tool_only": said(SWITCH, "Refuse calls without text.", default=True),
                "no_whitespace": said(SWITCH, "Refuse a reply of only whitespace.", default=True),
                "tool_explanation": said(SWITCH, "Ask for text after tool outputs.", default=True),
                "min_text": said(
                    {"type": ["integer", "boolean"]}, "The fewest characters of text, or false.", default=MIN_TEXT
                ),
                "min_explanation": said(
                    {"type": "integer"}, "The fewest characters after tool outputs.", default=MIN_TEXT
                ),
                "lenient": said(SWITCH, "Any text after tool outputs is enough.", default=False),
                "rules": {"type": "array", "items": REPLY_RULE, "description": "Rules of your own."},
                "environment": {
                    "enum": ["load", "check"],
                    "description": "When the environment's switches are read: once, or for each check.",
                    "default": "load",
                },
            },
            "The setting of each rule.",
        ),
    ],
}

SCORE_LEVEL: Shape = {**LEVEL, "default": "warning"}
BELOW: Shape = {"type": "number", "minimum": 0, "maximum": 1}
QUALITY: Shape = mapping(
    {
        "model": {
            "anyOf": [TEXT, {"type": "object"}],
            "description": "The model that `trueup learn` wrote: the path of its file, or the model itself.",
        },
        "below": said(BELOW, "The score below which a reply gets a finding.", default=LOW_QUALITY),
        "level": SCORE_LEVEL,
        "shadow": said(SWITCH, "Whether the score is only recorded, without a finding.", default=False),
    },
)
RELEVANCE: Shape = {
    "anyOf": [
        SWITCH,
        mapping(
            {
                "below": said(BELOW, "The score below which a reply is off topic.", default=LOW_RELEVANCE),
                "level": SCORE_LEVEL,
            },
            "The threshold and the level.",
        ),
    ],
}

FIELDS = {"type": "array", "items": TEXT}
GROUNDED: Shape = {
    "anyOf": [
        SWITCH,
        FIELDS,
        mapping(
            {
                "fields": said(FIELDS, "The fields that are looked up, such as name or lines[].price; by default all."),
                "except": said(FIELDS, "Fields that are not looked up."),
                "quotations": said(FIELDS, "Fields that must quote the source word for word."),
                "patterns": {
                    "type": "object",
                    "additionalProperties": {"type": "object", "additionalProperties": TEXTS},
                    "description": "For each field, and each value of it, the text that shows the value in a source: phrases, or /expressions/.",
                },
                "level": LEVEL,
                "least": {
                    "enum": ["exact", "normalized", "fuzzy"],
                    "description": "The weakest evidence that counts.",
                    "default": "fuzzy",
                },
                "source": said(TEXT, "The field of a unit's input that contains the source.", default="source"),
                "roles": {
                    "type": "array",
                    "items": {"enum": ["user", "assistant", "tool"]},
                    "description": "If the conversation is the source, the roles whose messages count; by default all three.",
                },
                "kinds": {
                    "type": "object",
                    "additionalProperties": TEXT,
                    "description": "For replies in prose: regular expressions, by name, for other text that must be in the source.",
                },
                "calls": said(SWITCH, "Whether the arguments of tool calls are looked up too.", default=False),
            },
            "Which values are looked up, and where.",
        ),
    ],
}

_CONTENT: dict[str, Shape] = {
    "terms": said(TEXTS, "Words and phrases; case and accents do not matter."),
    "term": said(TEXTS, "Short for `terms` with one item."),
    "patterns": said(
        TEXTS,
        "Regular expressions of the linear-time engine; {name} stands for any term or pattern of the group with that name.",
    ),
    "pattern": said(TEXTS, "Short for `patterns` with one item."),
    "timed": {
        "type": "number",
        "description": "The time limit in seconds, up to 1, for patterns of the backtracking engine; without it, patterns use the linear-time engine.",
    },
}
_GROUPS: dict[str, Shape] = {
    "groups": said(TEXTS, "Groups of terms and patterns, by name."),
    "group": said(TEXTS, "Short for `groups` with one item."),
}
EXCUSES: Shape = said(
    some(
        {
            "anyOf": [
                TEXT,
                mapping(
                    {
                        **_CONTENT,
                        **_GROUPS,
                        "within": said(TEXTS, "Patterns of longer phrases; a match inside one of them does not count."),
                        "names": said(TEXTS, "Fields of the context's data that contain names of people."),
                    },
                ),
            ]
        }
    ),
    "Exceptions: negated, question, conditional, quoted, addressed, a group, terms, patterns, within a phrase, or names from the context.",
)
_SAYING: dict[str, Shape] = {
    "except": EXCUSES,
    "why": said(TEXT, "The problem with it, for people."),
    "hint": said(TEXT, "The hint that is sent to the model."),
    "note": {"description": "For readers of the contract only."},
}
FORBIDDEN: Shape = mapping(
    {
        **_CONTENT,
        **_GROUPS,
        **_SAYING,
        "unless": said(TEXTS, "Fields of the context's data; once all are known, this is allowed."),
        "level": LEVEL,
        "name": said(TEXT, "Its name in logs."),
    },
    "Text that is forbidden.",
)
STATE: Shape = {
    "anyOf": [
        {"type": "null"},
        mapping(
            {
                "forbid": said(some({"anyOf": [TEXT, FORBIDDEN]}), "Text that is forbidden in this state."),
                "allow": EXCUSES,
                "tools": said(TEXTS, "The tools that may be called in this state; without it, all."),
                "fallback": said(TEXT, "The text to send if no reply passes; it must pass too."),
                "hint": said(TEXT, "The hint that is sent to the model if a reply does not fit the state."),
                "next": said(TEXTS, "The states that may follow."),
                "note": {"description": "For readers of the contract only."},
            },
            "One state: forbidden text, its tools, its fallback.",
        ),
    ]
}
STATES: Shape = {
    "type": "object",
    "properties": {
        "start": said(
            TEXT,
            "The first state, in which a reply is judged if the context names none; without it, such replies are refused.",
        ),
        "names": said(TEXTS, "Fields of the context's data that contain names of people."),
        "correction": said(
            TEXT, "The message that asks the model for another reply; {state}, {hint} and others are filled in."
        ),
        "groups": {
            "type": "object",
            "additionalProperties": {"anyOf": [TEXTS, mapping({**_CONTENT, **_SAYING}, "A group.")]},
            "description": "Terms and patterns under one name, which states can use.",
        },
        "always": said(STATE, "Text that is forbidden and allowed in every state."),
        "claims": {
            "type": "object",
            "additionalProperties": {"anyOf": [TEXTS, FORBIDDEN]},
            "description": "For each tool, text that claims it was used.",
        },
    },
    "additionalProperties": STATE,
}
