"""The catalogue: every code of a fix or a finding, with its grade or level and its price.

Each kind of repair has one price, and this is the only table of prices; the cheapest reading that fits the schema wins.
A code is permanent: a retired code keeps its row and its page in `findings/`.
"""

from typing import Literal, NamedTuple

Grade = Literal["lossless", "guess", "lossy"]
Level = Literal["error", "warning"]
Accept = Literal["none", "lossless", "guess", "lossy"]
Profile = Literal["off", "standard", "eager"]  # how far values are coerced

GRADES: dict[str, int] = {"none": 0, "lossless": 1, "guess": 2, "lossy": 3}


class FixKind(NamedTuple):
    """One way to change a reply: its name, how safe it is, its price, and one sentence about it."""

    code: str
    name: str
    grade: Grade
    price: int
    title: str


class FindingKind(NamedTuple):
    """One thing that can be wrong with a reply: its name, its level, and one sentence about it."""

    code: str
    name: str
    level: Level
    title: str


_FIXES = (
    # wrappers: text around the value
    FixKind("W001", "code-fence", "lossless", 1, "A Markdown code fence around the value was removed."),
    FixKind("W002", "prose", "lossless", 2, "Text around the value was removed."),
    FixKind("W003", "reasoning", "lossless", 1, "A reasoning block next to the answer was removed."),
    FixKind("W004", "tag", "lossless", 1, "A tag around the value was removed."),
    FixKind("W005", "special-token", "lossless", 1, "A special token from the model's chat template was removed."),
    FixKind("W006", "invisible-around", "lossless", 0, "Invisible characters around the value were removed."),
    FixKind("W007", "envelope", "guess", 4, "The value was inside an envelope key that is not in the schema."),
    FixKind("W008", "encoded-twice", "guess", 3, "The value was JSON written inside a JSON string."),
    FixKind(
        "W009", "escaped-json", "guess", 3, "The whole value was escaped, as if it had been copied out of a string."
    ),
    FixKind(
        "W010",
        "one-of-several",
        "guess",
        5,
        "Another value in the reply also fits; the better or the later one was kept.",
    ),
    FixKind("W011", "repeated", "lossless", 1, "The reply contained the same value more than once."),
    FixKind("W012", "gathered", "guess", 4, "Several values were gathered into the list that the schema asks for."),
    FixKind("W013", "out-of-reasoning", "lossy", 40, "The only value was inside a reasoning block."),
    FixKind(
        "W014", "misfit-left-out", "guess", 3, "Another value in the reply does not fit the schema and was ignored."
    ),
    FixKind("W015", "inner-part", "lossy", 40, "The value was inside another one that was cut off or broken."),
    FixKind(
        "W016", "quote-block", "lossless", 1, "Quote markers or line numbers at the start of each line were removed."
    ),
    FixKind(
        "W017",
        "only-example",
        "guess",
        4,
        "The text before the value calls it an example, and there is no other value.",
    ),
    FixKind(
        "W018",
        "withdrawn",
        "lossy",
        40,
        "The text after the value withdraws it, and the corrected value is missing.",
    ),
    FixKind(
        "W019",
        "one-of-records",
        "lossy",
        40,
        "The reply lists three or more objects, and one was taken because the schema asks for one.",
    ),
    # syntax: how the value was written
    FixKind("S001", "trailing-comma", "lossless", 1, "A comma before a closing bracket was dropped."),
    FixKind("S002", "missing-comma", "guess", 2, "A comma was added between two values."),
    FixKind("S003", "extra-comma", "guess", 3, "A comma without a value before it was dropped."),
    FixKind("S004", "missing-colon", "guess", 3, "A colon was added between a key and its value."),
    FixKind("S005", "missing-bracket", "guess", 4, "A closing bracket was added."),
    FixKind("S006", "wrong-bracket", "guess", 4, "A closing bracket of the wrong kind was replaced."),
    FixKind("S007", "extra-bracket", "guess", 3, "A closing bracket without an opening one was dropped."),
    FixKind("S008", "single-quotes", "lossless", 1, "A string was written in single quotes."),
    FixKind("S009", "smart-quotes", "lossless", 1, "A string was written in typographic quotes."),
    FixKind("S010", "backticks", "lossless", 1, "A string was written in backticks."),
    FixKind("S011", "triple-quotes", "lossless", 1, "A string was written in triple quotes."),
    FixKind("S012", "inner-quote", "guess", 4, "A quote inside a string was not escaped."),
    FixKind("S013", "missing-quote", "guess", 5, "A quote at the start or the end of a string was added."),
    FixKind("S014", "bare-key", "lossless", 1, "A key was written without quotes."),
    FixKind("S015", "bare-value", "guess", 3, "Words without quotes were read as a string."),
    FixKind(
        "S016", "raw-control", "lossless", 1, "A raw line break, tab or other control character in a string was kept."
    ),
    FixKind("S017", "comment", "lossless", 1, "A comment was dropped."),
    FixKind(
        "S018",
        "foreign-literal",
        "lossless",
        1,
        "A literal of another language, such as True or None, was read as its JSON form.",
    ),
    FixKind("S019", "undefined", "guess", 3, "undefined was read as null."),
    FixKind("S020", "number-form", "lossless", 1, "A number was written in a form that JSON does not have."),
    FixKind("S021", "fraction", "guess", 3, "A fraction was computed."),
    FixKind("S022", "joined-strings", "lossless", 2, "The parts of a string were joined."),
    FixKind("S023", "tuple-or-set", "guess", 2, "A tuple or a set was read as a list."),
    FixKind("S024", "full-width", "lossless", 1, "Full-width punctuation was read as its plain form."),
    FixKind("S025", "odd-escape", "lossless", 1, "A string contained an escape that JSON does not have."),
    FixKind("S026", "odd-space", "lossless", 1, "An invisible or non-breaking character between tokens was dropped."),
    FixKind("S027", "ellipsis", "lossy", 20, "The model wrote an ellipsis in place of content."),
    FixKind("S028", "cut-string", "lossy", 20, "The text ends inside a string."),
    FixKind("S029", "cut-member", "lossy", 20, "The text ends inside a key or before its value."),
    FixKind("S030", "cut-literal", "lossy", 15, "The text ends inside a number or a word."),
    FixKind("S031", "dropped-text", "lossy", 25, "Meaningless text inside the value was dropped."),
    FixKind("S032", "duplicate-key", "guess", 3, "A key appeared twice; the last value was kept."),
    FixKind("S033", "non-finite", "lossy", 20, "NaN or Infinity, which JSON does not have, became null."),
    FixKind("S034", "out-of-range", "lossy", 20, "A number too large to represent became null."),
    FixKind("S035", "lone-surrogate", "lossy", 20, "Half of a surrogate pair became U+FFFD."),
    FixKind("S036", "missing-value", "lossy", 20, "A key had no value; its value became null."),
    FixKind("S037", "lone-key", "lossy", 25, "A key without a value was dropped."),
    FixKind("S038", "odd-separator", "lossless", 1, "Another character was used in place of a colon or a comma."),
    FixKind("S039", "bad-utf8", "lossy", 20, "Bytes that are not UTF-8 became U+FFFD."),
    FixKind("S040", "extra-quote", "guess", 3, "A stray quote between tokens was dropped."),
    FixKind("S041", "kept-backslash", "guess", 3, "The backslashes of a formula or a path were kept unchanged."),
    FixKind(
        "S042",
        "likely-misread",
        "lossy",
        30,
        "A repeated key or a repaired string shows that the text was probably misread.",
    ),
    FixKind(
        "S043",
        "open-end",
        "guess",
        2,
        "The text ends right after a number or an unquoted word, which may be incomplete.",
    ),
    # forms: notations other than JSON
    FixKind("F001", "yaml-lines", "guess", 6, "Lines of `key: value` were read as an object."),
    FixKind("F002", "markdown-fields", "guess", 6, "A Markdown list or table of fields was read as an object."),
    FixKind("F003", "call-form", "guess", 5, "`Name(a=1, b='x')` was read as an object."),
    FixKind("F004", "xml-elements", "guess", 6, "XML elements named after the fields were read as an object."),
    FixKind("F005", "parameter-tags", "guess", 5, "Parameter tags of a tool call were read as an object."),
    FixKind("F006", "scalar-in-prose", "guess", 12, "One scalar was taken from a sentence."),
    FixKind("F007", "bare-members", "guess", 4, "Members without braces were read as an object."),
    FixKind("F008", "bare-scalar", "guess", 3, "The whole text was read as one scalar."),
    FixKind(
        "F009",
        "unclear-line",
        "guess",
        5,
        "A line that is not a field was joined to a field, or dropped.",
    ),
    FixKind(
        "F010", "list-lines", "guess", 6, "A list with a bullet or a number before each item was read as an array."
    ),
    FixKind(
        "F011", "table-rows", "guess", 6, "The rows of a table whose header names the fields were read as objects."
    ),
    # calls: how a tool call was written
    FixKind("K001", "leaked-call", "guess", 5, "A tool call written in the text was read as a call."),
    FixKind(
        "K002", "tool-name-matched", "guess", 2, "A tool's name with another prefix, namespace or spelling was matched."
    ),
    FixKind("K003", "arguments-unwrapped", "guess", 3, "Arguments wrapped in an extra layer were unwrapped."),
    FixKind("K004", "default-filled", "guess", 1, "A missing argument was filled with the schema's default."),
    FixKind("K005", "enum-defaulted", "guess", 5, "An argument outside its enum was replaced with the tool's default."),
    # coercions: a value converted to the type that the schema asks for
    FixKind("C001", "to-integer", "guess", 2, "A string that contains an integer became an integer."),
    FixKind("C002", "to-number", "guess", 2, "A string that contains a number became a number."),
    FixKind("C003", "to-boolean", "guess", 2, "A string that says true or false became a boolean."),
    FixKind("C004", "integral-float", "lossless", 1, "A number with a zero fraction became an integer."),
    FixKind("C005", "text-to-value", "guess", 3, "A string that contains JSON was parsed."),
    FixKind("C006", "wrapped-in-list", "guess", 3, "A single value became a list with one item."),
    FixKind("C007", "taken-from-list", "guess", 4, "A list with one item became that item."),
    FixKind("C008", "to-string", "guess", 2, "A number became a string."),
    FixKind("C009", "null-dropped", "guess", 2, "null for an optional field was dropped."),
    FixKind(
        "C010",
        "key-matched",
        "guess",
        2,
        "A key that differs only in case, spacing or punctuation, or is an alias, was matched.",
    ),
    FixKind(
        "C011",
        "enum-matched",
        "guess",
        2,
        "An enum value that differs only in case, accents or punctuation, or is an alias, was matched.",
    ),
    FixKind("C012", "enum-in-sentence", "guess", 5, "The only enum value in a sentence was taken."),
    FixKind("C013", "yes-or-no", "guess", 4, "yes, no, on or off became a boolean."),
    FixKind("C014", "formatted-number", "guess", 4, "A number written with symbols, units or separators was read."),
    FixKind("C015", "enum-part", "guess", 3, "An enum value was found by a configured prefix or delimiter."),
    FixKind("C016", "boolean-to-string", "guess", 3, "A boolean became a string."),
    FixKind("C017", "only-field", "guess", 5, "A bare value was put into the only field that the object requires."),
    FixKind("C018", "type-converted", "lossless", 1, "The contract's type converted the value."),
)

_FINDINGS = (
    FindingKind("R001", "unknown-shape", "error", "The input does not have the shape of any known provider's reply."),
    FindingKind("R002", "transport-failure", "error", "The provider sent an error instead of a reply, or inside one."),
    FindingKind("R003", "cut-stream", "error", "The reply ended before the provider said that it was complete."),
    FindingKind("R004", "no-answer", "error", "The messages contain no answer from the model."),
    FindingKind("P001", "no-value", "error", "The reply contains nothing that can be read as the requested value."),
    FindingKind("P002", "empty", "error", "The reply is empty."),
    FindingKind("P003", "duplicate-key", "warning", "An object has the same key twice."),
    FindingKind("P004", "non-finite", "error", "NaN or Infinity appears in place of a number."),
    FindingKind("P005", "out-of-range", "error", "A number is too large to represent."),
    FindingKind("P006", "lone-surrogate", "error", "A string contains half of a surrogate pair."),
    FindingKind("P007", "bad-utf8", "error", "The reply's bytes are not UTF-8."),
    FindingKind("P008", "ambiguous", "error", "The reply can be read in two different ways."),
    FindingKind("P009", "cut-reply", "error", "The provider cut off the reply before its value was complete."),
    FindingKind("P010", "model-refused", "error", "The model refused to answer."),
    FindingKind(
        "P011", "open-end", "warning", "The reply ends right after a number or an unquoted word: it may be cut off."
    ),
    FindingKind("P012", "unmeant-escape", "warning", "An escape such as \\f appears where LaTeX or a path was meant."),
    FindingKind("P013", "looping", "error", "The reply repeats itself endlessly, and its stream was aborted."),
    FindingKind("L001", "too-large", "error", "The reply is longer than the contract allows."),
    FindingKind("L002", "too-deep", "error", "The reply is nested deeper than the contract allows."),
    FindingKind(
        "L003", "too-many-parts", "error", "The reply contains more values, faults or calls than trueup examines."
    ),
    FindingKind("G001", "grade-refused", "error", "A fix has a grade that the contract does not accept."),
    FindingKind("V001", "wrong-type", "error", "A value is of the wrong type."),
    FindingKind("V002", "missing", "error", "A required field is missing."),
    FindingKind("V003", "unknown-key", "error", "The schema does not allow a key."),
    FindingKind("V004", "out-of-bounds", "error", "A number is smaller or larger than allowed."),
    FindingKind("V005", "not-in-enum", "error", "A value is not one of the allowed values."),
    FindingKind("V006", "pattern", "error", "A string does not match its pattern."),
    FindingKind("V007", "wrong-size", "error", "A string, a list or an object is too short or too long."),
    FindingKind(
        "V008",
        "no-arm-fits",
        "error",
        "A value fits none of the alternatives, or more than one where only one may fit.",
    ),
    FindingKind("V009", "not-unique", "error", "A list repeats an item."),
    FindingKind("V010", "wrong-format", "error", "A string is not in the requested format."),
    FindingKind("V011", "not-allowed", "error", "A value breaks another rule of the schema."),
    FindingKind("V012", "type-refused", "error", "The Python type refused the value."),
    FindingKind("T001", "unknown-tool", "error", "A call names a tool that was not offered."),
    FindingKind("T002", "look-alike-name", "error", "A tool's name is written with look-alike letters."),
    FindingKind("T003", "bad-arguments", "error", "A call's arguments cannot be read."),
    FindingKind("T004", "arguments-no-object", "error", "A call's arguments are not an object."),
    FindingKind("T005", "unknown-argument", "warning", "A call passes an argument that the tool does not have."),
    FindingKind("T006", "cut-arguments", "error", "A call's arguments were cut off."),
    FindingKind("T007", "out-of-order", "warning", "A step of the sequence is called after a later step."),
    FindingKind("T008", "prerequisite", "error", "A tool is called before the tools that it requires."),
    FindingKind("T009", "too-often", "error", "A tool is called more often than allowed."),
    FindingKind("T010", "not-together", "error", "Two tools that exclude each other are called."),
    FindingKind("T011", "unknown-mention", "warning", "The text mentions a tool that was not offered."),
    FindingKind("T012", "claimed-call", "warning", "The text claims that a tool was run, but it was not called."),
    FindingKind("T013", "nothing-said", "warning", "The reply has neither text nor calls."),
    FindingKind("T014", "repeated-id", "warning", "Two calls have the same id."),
    FindingKind("T015", "repeated-call", "warning", "The same call is made twice."),
    FindingKind("T016", "parallel-calls", "error", "The reply makes several calls, but only one at a time is allowed."),
    FindingKind("T017", "invented-result", "warning", "The reply invents the result of a call that it makes."),
    FindingKind("T018", "rests-on-invention", "error", "A call follows a result that the reply invented."),
    FindingKind("T019", "no-call", "error", "The reply must call a tool, but calls none."),
    FindingKind("T020", "unexpected-step", "warning", "A call is not the one that is expected at its position."),
    # business rules: conditions between fields
    FindingKind("B001", "required-field", "error", "A field that the rules require is missing or null."),
    FindingKind("B002", "wrong-kind", "error", "A field does not have the type that the rules require."),
    FindingKind("B003", "out-of-range", "error", "A number is outside the range that the rules set."),
    FindingKind("B004", "not-listed", "error", "A field's value is not one that the rules allow."),
    FindingKind("B005", "rule-broken", "error", "A business rule is broken."),
    FindingKind("B006", "rule-failed", "error", "A business rule cannot be evaluated on this data."),
    FindingKind("B007", "rule-skipped", "warning", "A rule was skipped: its condition cannot be evaluated."),
    FindingKind("B008", "check-refused", "error", "A check of the contract refuses the reply."),
    FindingKind("Q001", "no-message", "error", "There is no assistant message to judge."),
    FindingKind("Q002", "empty-response", "error", "All messages of the reply are empty."),
    FindingKind("Q003", "only-calls", "error", "The reply calls tools but says nothing."),
    FindingKind("Q004", "only-whitespace", "error", "The reply's text is only whitespace."),
    FindingKind("Q005", "unexplained-output", "error", "A tool's output is not followed by enough text to explain it."),
    FindingKind("Q006", "too-short", "error", "The reply's text is too short to be useful."),
    FindingKind("Q007", "custom-rule", "error", "A custom reply rule of the contract refuses the reply."),
    FindingKind("Q008", "low-quality", "warning", "The learned score of the reply is below the contract's threshold."),
    FindingKind("Q009", "off-topic", "warning", "The reply is not about the user's question."),
    # the shelf: ready checks that a contract asks for by name
    FindingKind("H001", "secret", "error", "The reply contains a key, a token or a password."),
    FindingKind("H002", "email", "error", "The reply contains an e-mail address."),
    FindingKind("H003", "phone", "error", "The reply contains a telephone number."),
    FindingKind("H004", "card", "error", "The reply contains a payment card number."),
    FindingKind("H005", "iban", "error", "The reply contains a bank account number."),
    FindingKind("H006", "wrong-language", "error", "The reply is not in a language that the contract allows."),
    FindingKind("H007", "bad-address", "error", "A URL in the reply is broken, misleading or not allowed."),
    FindingKind("H008", "broken-code", "error", "Code in the reply does not parse."),
    FindingKind("H009", "forbidden-term", "error", "The reply contains a term that the contract forbids."),
    FindingKind("H010", "missing-term", "error", "The reply lacks a term that the contract requires."),
    FindingKind("H011", "prompt-leak", "error", "The reply repeats parts of its system prompt."),
    FindingKind("H012", "repetition", "error", "The reply repeats itself."),
    FindingKind("H013", "not-judged", "warning", "A ready check did not judge a part of the reply."),
    FindingKind("D001", "forbidden-content", "error", "The reply says something that does not belong in this state."),
    FindingKind("D002", "tool-not-in-state", "error", "The reply calls a tool that this state does not allow."),
    FindingKind("D003", "claimed-action", "error", "The reply claims an action that no call carried out."),
    FindingKind("D004", "unknown-state", "error", "The context names a state that the contract does not have."),
    FindingKind("D005", "pattern-out-of-time", "error", "A pattern with a time limit ran out of time."),
    FindingKind("D006", "missing-state", "error", "The context names no state, and the contract has no start state."),
    FindingKind(
        "D007", "start-assumed", "warning", "The context names no state; the reply was judged in the start state."
    ),
    # evidence in the sources
    FindingKind("E001", "no-evidence", "error", "A value is not in the source."),
    FindingKind("E002", "only-in-prompt", "error", "A value appears only in the prompt's instructions or example."),
    FindingKind("E003", "other-record", "error", "In the source, the value belongs to another record."),
    FindingKind("E004", "altered-quotation", "error", "A quotation does not appear word for word in the source."),
    FindingKind("E005", "unknown-citation", "error", "The reply cites a document that does not exist."),
    FindingKind("E006", "wrong-citation", "error", "The cited document does not contain the claim."),
    FindingKind("E007", "no-source", "error", "The contract is grounded, but the context has no source."),
    # asking again
    FindingKind("A001", "budget-spent", "error", "A budget of the policy ran out before a valid reply arrived."),
    FindingKind("A002", "unfinished", "error", "The provider did not say that the reply was finished."),
    FindingKind("A003", "same-fault", "error", "The model repeated a fault after a correction."),
    FindingKind("A004", "gave-up", "error", "No valid reply arrived within the tries that the policy allows."),
    FindingKind("A005", "cancelled", "error", "`ask` was cancelled."),
    FindingKind("A006", "echoed-form", "error", "A value is the form's placeholder."),
    FindingKind(
        "A007", "budget-at-risk", "warning", "A request may exceed the budget, judging by its largest possible size."
    ),
    # contract and pipeline files, found by `trueup lint`
    FindingKind("N001", "unreadable-file", "error", "A file cannot be read, or its kind is unknown."),
    FindingKind(
        "N002", "bad-syntax", "error", "A file is not valid YAML, TOML or JSON of the kind that contracts use."
    ),
    FindingKind("N003", "file-too-large", "error", "A file is too large or too deeply nested, counting its aliases."),
    FindingKind("N004", "key-twice", "error", "A key appears twice in one mapping of a file."),
    FindingKind("N005", "unknown-option", "error", "A file has an unknown key."),
    FindingKind("N006", "wrong-shape", "error", "A value in a file has the wrong shape."),
    FindingKind("N007", "bad-schema", "error", "The schema of a contract cannot be used."),
    FindingKind("N008", "bad-extends", "error", "A contract extends a file that is missing, or extends itself."),
    FindingKind("N009", "bad-tools", "error", "The tools of a contract cannot be used."),
    FindingKind("N010", "no-such-tool", "error", "A contract mentions a tool that it does not offer."),
    FindingKind("N011", "rule-twice", "error", "Two rules of a contract have the same name."),
    FindingKind("N012", "bad-expression", "error", "An expression of a contract cannot be compiled."),
    FindingKind("N013", "no-such-field", "warning", "An expression names a field that the schema does not have."),
    FindingKind("N014", "bad-pattern", "error", "A pattern of a contract cannot be used."),
    FindingKind("N015", "unreachable-state", "warning", "No transition leads to a state."),
    FindingKind("N016", "no-fallback", "warning", "A state has no fallback text."),
    FindingKind("N017", "bad-fallback", "error", "A state's fallback breaks the rules of that state."),
    FindingKind("N018", "no-such-state", "error", "A contract mentions a state that it does not have."),
    FindingKind(
        "N019", "no-such-check", "error", "A contract names a custom check that no installed package provides."
    ),
    FindingKind("N020", "broken-example", "error", "An example of a contract does not give the expected result."),
    FindingKind("N021", "refused-part", "error", "A part of a contract was refused when the contract was built."),
    FindingKind(
        "N022",
        "check-failed",
        "error",
        "The reply rules cannot be read from the environment, so no reply can be judged.",
    ),
    FindingKind("N023", "strange-keyword", "warning", "A key of a schema or a tool looks like a misspelled keyword."),
    FindingKind(
        "N024",
        "folded-pattern",
        "warning",
        "A pattern distinguishes characters that are the same in the text it is matched against.",
    ),
    FindingKind("N025", "unknown-placeholder", "error", "A text for the model names an unknown placeholder."),
    FindingKind("N026", "unprovided-name", "error", "A rule uses a field that nothing can provide."),
    FindingKind(
        "N027",
        "relevance-language",
        "error",
        "The relevance check supports only English, and the contract is in another language.",
    ),
    FindingKind("N028", "bad-model", "error", "The quality model of a contract cannot be used."),
    FindingKind(
        "N029",
        "shadow-model",
        "warning",
        "The quality model has not passed its evaluation, so its score is only recorded.",
    ),
    # pipelines
    FindingKind("N030", "missing-section", "error", "A pipeline lacks a section that it needs."),
    FindingKind("N031", "broken-link", "error", "A step lacks its template, schema or rules, or they lack their step."),
    FindingKind("N032", "bad-template", "error", "A template is missing or does not parse."),
    FindingKind("N033", "bad-items", "error", "The items of a pipeline cannot become units."),
    FindingKind("N034", "step-twice", "error", "Two steps of a pipeline have the same name."),
    FindingKind("N035", "bad-step", "error", "A step lacks what its kind needs."),
    FindingKind(
        "N036", "unknown-section", "warning", "A pipeline has an unknown section, or a section has an unknown key."
    ),
    FindingKind("N037", "no-such-value", "error", "A template names a field that nothing provides."),
    FindingKind("N038", "no-such-script", "warning", "A script that runs at the end is missing."),
    FindingKind("N039", "fails-on-mock", "warning", "A rule or an expression fails on made-up data."),
    FindingKind("N040", "never-given", "warning", "A rule names a value that the field's schema does not allow."),
    # a gateway's file
    FindingKind("N050", "key-expires", "warning", "A gateway client's key has expired or expires soon."),
    FindingKind("N051", "secret-in-address", "warning", "An address in a gateway's file contains a password."),
    FindingKind("N052", "open-to-all", "warning", "A gateway that others can reach lets everyone in."),
    FindingKind(
        "N053",
        "shadowed-route",
        "warning",
        "A route is never used, because an earlier route matches all of its models.",
    ),
    # units of a batch
    FindingKind("U001", "unreadable-line", "error", "A line of a batch is not JSON."),
    FindingKind("U002", "no-unit", "error", "A line of a batch contains no unit."),
    FindingKind("U003", "duplicate-id", "error", "An earlier unit of the batch has the same id."),
    FindingKind("U004", "line-too-long", "error", "A line of a batch is longer than allowed."),
    FindingKind("U005", "no-id", "warning", "A unit has no id; its position is used as the id."),
    FindingKind("U006", "timed-out", "error", "Judging a unit took longer than allowed."),
    FindingKind("U007", "out-of-memory", "error", "Judging a unit took more memory than allowed."),
    FindingKind("U008", "crashed", "error", "Judging a unit crashed its process twice."),
    FindingKind("U009", "check-raised", "error", "Judging a unit raised an error outside its checks and validators."),
    FindingKind(
        "U010", "field-replaced", "warning", "A line has a field whose name its record uses for another purpose."
    ),
    FindingKind("U030", "no-prompt", "error", "The template produces no prompt for a unit."),
    FindingKind("U031", "expression-failed", "error", "An expression of a step fails for a unit."),
    FindingKind("U032", "loop-unfinished", "error", "A loop of a step does not end for a unit."),
    FindingKind("U033", "not-storable", "error", "An expression produces a value that JSON cannot represent."),
    FindingKind("U034", "nothing-to-fan-out", "error", "A unit has no list to fan out."),
    FindingKind("U035", "no-reply-helps", "error", "A rule of the configuration refuses every possible reply."),
    # bugs in the code of a contract
    FindingKind("X001", "contract-bug", "error", "A check or a validator of the contract has a bug and did not judge."),
)

FIXES: dict[str, FixKind] = {kind.code: kind for kind in _FIXES}
FINDINGS: dict[str, FindingKind] = {kind.code: kind for kind in _FINDINGS}
OWN: dict[str, FindingKind] = {}  # the kinds of custom checks, added as the checks are created
PRICE: dict[str, int] = {kind.code: kind.price for kind in _FIXES}
GRADE: dict[str, Grade] = {kind.code: kind.grade for kind in _FIXES}

# These lossy fixes come with their own error finding, so G001 does not name them again.
SPOKEN_FOR = frozenset({"S033", "S034", "S035", "S039"})
