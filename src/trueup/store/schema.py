"""The tables, by version; brings a store to the newest version.

Each version is a list of statements that both databases understand, run once and in one transaction. A store written by a
newer trueup is refused, not guessed at. A released version is never edited.
"""

from collections.abc import Sequence

from trueup.store.errors import StoreUnavailable
from trueup.store.session import Backend, Session

_FIRST = (
    """CREATE TABLE verdicts (
        id TEXT PRIMARY KEY, at BIGINT NOT NULL, request TEXT NOT NULL, attempt BIGINT NOT NULL,
        tenant TEXT NOT NULL, person TEXT NOT NULL, model TEXT NOT NULL, contract TEXT NOT NULL,
        state TEXT NOT NULL, ok BIGINT NOT NULL, outcome TEXT NOT NULL, reason TEXT NOT NULL, codes TEXT NOT NULL,
        attempts BIGINT NOT NULL, latency BIGINT NOT NULL, tokens_in BIGINT NOT NULL, tokens_out BIGINT NOT NULL,
        cost BIGINT NOT NULL)""",
    "CREATE INDEX verdicts_at ON verdicts (at)",
    "CREATE INDEX verdicts_request ON verdicts (request)",
    # Bodies are separate: they are large, and are kept for a shorter time.
    "CREATE TABLE replies (verdict TEXT PRIMARY KEY, at BIGINT NOT NULL, body {blob} NOT NULL)",
    "CREATE INDEX replies_at ON replies (at)",
    """CREATE TABLE feedback (
        verdict TEXT NOT NULL, person TEXT NOT NULL, at BIGINT NOT NULL, helpful BIGINT, label TEXT NOT NULL,
        note {blob} NOT NULL, PRIMARY KEY (verdict, person))""",
    # Counted as verdicts arrive, so that rates over a year need few rows and outlive the verdicts.
    """CREATE TABLE tallies (
        hour BIGINT NOT NULL, model TEXT NOT NULL, contract TEXT NOT NULL, what TEXT NOT NULL, n BIGINT NOT NULL,
        PRIMARY KEY (hour, model, contract, what))""",
    """CREATE TABLE limits (
        tenant TEXT NOT NULL, scope TEXT NOT NULL, name TEXT NOT NULL, unit TEXT NOT NULL, period TEXT NOT NULL,
        amount BIGINT NOT NULL, PRIMARY KEY (tenant, scope, name, unit, period))""",
    """CREATE TABLE buckets (
        tenant TEXT NOT NULL, scope TEXT NOT NULL, name TEXT NOT NULL, unit TEXT NOT NULL, period TEXT NOT NULL,
        start BIGINT NOT NULL, used BIGINT NOT NULL, held BIGINT NOT NULL, folded BIGINT NOT NULL,
        PRIMARY KEY (tenant, scope, name, unit, period, start))""",
    """CREATE TABLE ledger (
        tenant TEXT NOT NULL, key TEXT NOT NULL, token TEXT NOT NULL, person TEXT NOT NULL, model TEXT NOT NULL,
        amount BIGINT NOT NULL, captured BIGINT NOT NULL, estimate BIGINT NOT NULL, cost_held BIGINT NOT NULL,
        state TEXT NOT NULL, at BIGINT NOT NULL, expires BIGINT NOT NULL, settled BIGINT NOT NULL,
        buckets TEXT NOT NULL, PRIMARY KEY (tenant, key))""",
    "CREATE INDEX ledger_held ON ledger (tenant, expires) WHERE state = 'held'",
    "CREATE INDEX ledger_settled ON ledger (settled) WHERE state <> 'held'",
    """CREATE TABLE attempts (
        tenant TEXT NOT NULL, key TEXT NOT NULL, token TEXT NOT NULL, attempt BIGINT NOT NULL, cost BIGINT NOT NULL,
        at BIGINT NOT NULL, buckets TEXT NOT NULL, PRIMARY KEY (tenant, key, token, attempt))""",
    "CREATE INDEX attempts_at ON attempts (at)",
)

# Verdicts from before this version have an empty fingerprint.
_FINGERPRINTS = ("ALTER TABLE verdicts ADD COLUMN fingerprint TEXT NOT NULL DEFAULT ''",)

# A charged reply is kept for a while, for a client that did not get it. `sending`: charged, but not completely sent yet.
_REPLAYS = (
    "ALTER TABLE ledger ADD COLUMN digest TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE ledger ADD COLUMN sending BIGINT NOT NULL DEFAULT 0",
    """CREATE TABLE replays (
        tenant TEXT NOT NULL, key TEXT NOT NULL, at BIGINT NOT NULL, head TEXT NOT NULL, body {blob} NOT NULL,
        PRIMARY KEY (tenant, key))""",
    "CREATE INDEX replays_at ON replays (at)",
)

# What it takes to judge a reply again, and an index for each filter. `context` names what the reply was judged with; it is
# unknown ('?') for older verdicts. `kept` says what is left of the reply's text: whole, redacted, none; '' for older
# verdicts. Indexes omit rows that an ordinary filter would not ask for: most verdicts have no state, and passed.
_REJUDGEABLE = (
    "ALTER TABLE verdicts ADD COLUMN engine TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE verdicts ADD COLUMN context TEXT NOT NULL DEFAULT '?'",
    "ALTER TABLE verdicts ADD COLUMN conversation TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE verdicts ADD COLUMN kept TEXT NOT NULL DEFAULT ''",
    "CREATE INDEX verdicts_model ON verdicts (model, at) WHERE model <> ''",
    "CREATE INDEX verdicts_contract ON verdicts (contract, at) WHERE contract <> ''",
    "CREATE INDEX verdicts_fingerprint ON verdicts (fingerprint, at) WHERE fingerprint <> ''",
    "CREATE INDEX verdicts_state ON verdicts (substr(state, 1, 200), at) WHERE state <> ''",
    "CREATE INDEX verdicts_tenant ON verdicts (substr(tenant, 1, 200), at) WHERE tenant <> ''",
    "CREATE INDEX verdicts_conversation ON verdicts (conversation, at) WHERE conversation <> ''",
    "CREATE INDEX verdicts_outcome ON verdicts (outcome, at) WHERE outcome <> 'accepted'",
    "CREATE INDEX verdicts_refused ON verdicts (at) WHERE ok = 0",
    "CREATE TABLE contracts (fingerprint TEXT PRIMARY KEY, name TEXT NOT NULL, at BIGINT NOT NULL, text {blob} NOT NULL)",
    "CREATE TABLE contexts (verdict TEXT PRIMARY KEY, at BIGINT NOT NULL, body {blob} NOT NULL)",
    "CREATE INDEX contexts_at ON contexts (at)",
    # `code:V005` or `rule:NAME`, for each finding of a verdict; a verdict without findings has none.
    "CREATE TABLE facts (fact TEXT NOT NULL, at BIGINT NOT NULL, verdict TEXT NOT NULL, PRIMARY KEY (fact, at, verdict))",
    "CREATE INDEX facts_verdict ON facts (verdict)",
    # Earlier verdicts have their codes in one text, separated by spaces; each text is split here, character by character.
    """WITH RECURSIVE walk (codes, n, word) AS (
        SELECT DISTINCT codes, 1, CAST('' AS TEXT) FROM verdicts WHERE codes <> ''
        UNION ALL SELECT codes, n + 1, CASE WHEN substr(codes, n, 1) = ' ' THEN '' ELSE word || substr(codes, n, 1) END
        FROM walk WHERE n <= length(codes))
    INSERT INTO facts (fact, at, verdict) SELECT DISTINCT 'code:' || w.word, v.at, v.id
        FROM verdicts v JOIN walk w ON w.codes = v.codes WHERE w.word <> '' AND substr(w.codes, w.n, 1) IN (' ', '')""",
    # One person may say several things: about the verdict or one of its findings (`subject`), each once by `kind`.
    """CREATE TABLE feedback_kinds (
        verdict TEXT NOT NULL, subject TEXT NOT NULL, person TEXT NOT NULL, kind TEXT NOT NULL, at BIGINT NOT NULL,
        helpful BIGINT, label TEXT NOT NULL, outcome TEXT NOT NULL, note {blob} NOT NULL, drawn TEXT NOT NULL,
        PRIMARY KEY (verdict, subject, person, kind))""",
    """INSERT INTO feedback_kinds (verdict, subject, person, kind, at, helpful, label, outcome, note, drawn)
        SELECT verdict, '', person, '', at, helpful, label, '', note, '' FROM feedback""",
    "DROP TABLE feedback",
    "ALTER TABLE feedback_kinds RENAME TO feedback",
    "CREATE INDEX feedback_outcome ON feedback (outcome, verdict) WHERE outcome <> ''",
    "CREATE INDEX feedback_label ON feedback (substr(label, 1, 200), verdict) WHERE label <> ''",
    "CREATE INDEX feedback_helpful ON feedback (helpful, verdict) WHERE helpful IS NOT NULL",
)

VERSIONS: tuple[Sequence[str], ...] = (_FIRST, _FINGERPRINTS, _REPLAYS, _REJUDGEABLE)


def migrate(backend: Backend, session: Session, versions: Sequence[Sequence[str]] = VERSIONS) -> int:
    """Bring the tables to the newest version, which several processes may do together. Returns the version before."""
    session.begin(["trueup schema"])
    try:
        session.run("CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL)")
        rows = session.run("SELECT value FROM meta WHERE name = 'version'")
        found = int(rows[0][0]) if rows else 0
        _refuse_newer(backend, found, len(versions))
        for statements in versions[found:]:
            for statement in statements:
                session.run(statement.replace("{blob}", backend.blob))
        if found < len(versions):
            upsert = "INSERT INTO meta VALUES ('version', ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
            session.run(upsert, (str(len(versions)),))
        session.commit()
    except BaseException:
        session.rollback()
        raise
    return found


def _refuse_newer(backend: Backend, found: int, known: int) -> None:
    if found > known:
        raise StoreUnavailable(
            f"{backend.where}: the store was written by a newer trueup (tables of version {found}, known here: {known}); "
            "upgrade trueup, or give another store"
        )
