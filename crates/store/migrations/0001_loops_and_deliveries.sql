-- Times are milliseconds since 1970 in UTC. A `…_key` column holds the form of a name that is the same for every
-- spelling of it. A path is TEXT where it is UTF-8, else its bytes, hence ANY.

CREATE TABLE loops (
    id            TEXT PRIMARY KEY NOT NULL,
    worktree      ANY NOT NULL,
    common_dir    ANY NOT NULL,
    branch        TEXT NOT NULL,
    status_file   TEXT NOT NULL,
    slug          TEXT NOT NULL,
    created_at    INTEGER NOT NULL,
    state         TEXT NOT NULL DEFAULT 'running'
                  CHECK (state IN ('running', 'passed', 'blocked', 'held', 'idle')),
    decision_key  TEXT,
    decision_json TEXT,
    tip           TEXT,
    paused        TEXT,
    skipped       TEXT NOT NULL DEFAULT '[]',
    resumed       TEXT,
    accepted      TEXT,
    approved      TEXT,
    approved_text TEXT,
    up            INTEGER NOT NULL DEFAULT 0 CHECK (up IN (0, 1)),
    told          TEXT,
    worked_ms     INTEGER NOT NULL DEFAULT 0,
    started_at    INTEGER,
    ended_at      INTEGER,
    session       TEXT,
    planner_told  TEXT
) STRICT;

CREATE TABLE turns (
    loop_id     TEXT NOT NULL REFERENCES loops (id) ON DELETE CASCADE,
    n           INTEGER NOT NULL,
    author      TEXT NOT NULL,
    target      TEXT,
    summary     TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    verdict     TEXT,
    commit_id   TEXT,
    woken       INTEGER CHECK (woken IN (0, 1)),
    answered    INTEGER NOT NULL CHECK (answered IN (0, 1)),
    PRIMARY KEY (loop_id, n)
) STRICT, WITHOUT ROWID;

CREATE TABLE deliveries (
    seq          INTEGER PRIMARY KEY AUTOINCREMENT,
    id           TEXT NOT NULL UNIQUE,
    loop_id      TEXT NOT NULL REFERENCES loops (id) ON DELETE CASCADE,
    turn         INTEGER NOT NULL,
    agent        TEXT NOT NULL,
    agent_key    TEXT NOT NULL,
    attempt      INTEGER NOT NULL CHECK (attempt >= 1),
    state        TEXT NOT NULL
                 CHECK (state IN ('queued', 'waiting', 'typing', 'typed', 'submitted', 'started', 'answered',
                                  'superseded', 'unanswered', 'unknown', 'dead')),
    reason       TEXT,
    tries        INTEGER NOT NULL DEFAULT 0,
    created_at   INTEGER NOT NULL,
    updated_at   INTEGER NOT NULL,
    not_before   INTEGER NOT NULL,
    typed_at     INTEGER,
    submitted_at INTEGER,
    started_at   INTEGER,
    answered_at  INTEGER,
    worked_ms    INTEGER NOT NULL DEFAULT 0,
    lease_owner  TEXT,
    lease_until  INTEGER,
    UNIQUE (loop_id, turn, agent_key, attempt)
) STRICT;

-- The last line of defence: whatever the code does, an agent never has two wakes of one loop at once.
CREATE UNIQUE INDEX deliveries_one_out ON deliveries (loop_id, agent_key)
    WHERE state IN ('typing', 'typed', 'submitted', 'started', 'unknown');

-- These are asked for again and again, while the finished ones pile up. A query uses one of them only where it
-- has the same condition word for word.
CREATE INDEX deliveries_untyped ON deliveries (loop_id, agent_key) WHERE state IN ('queued', 'waiting');
CREATE INDEX deliveries_open ON deliveries (loop_id)
    WHERE state NOT IN ('answered', 'superseded', 'unanswered', 'dead');

CREATE TABLE ledger (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    delivery_id TEXT NOT NULL REFERENCES deliveries (id) ON DELETE CASCADE,
    at          INTEGER NOT NULL,
    state       TEXT NOT NULL,
    reason      TEXT
) STRICT;
CREATE INDEX ledger_of_delivery ON ledger (delivery_id);

CREATE TABLE sessions (
    loop_id         TEXT NOT NULL REFERENCES loops (id) ON DELETE CASCADE,
    agent           TEXT NOT NULL,
    agent_key       TEXT NOT NULL,
    transport       TEXT NOT NULL,
    address         TEXT NOT NULL,
    conversation    TEXT,
    pid             INTEGER,
    started_by_loop INTEGER NOT NULL CHECK (started_by_loop IN (0, 1)),
    registered_at   INTEGER NOT NULL,
    PRIMARY KEY (loop_id, agent_key)
) STRICT, WITHOUT ROWID;

CREATE TABLE incidents (
    id       TEXT PRIMARY KEY NOT NULL,
    at       INTEGER NOT NULL,
    severity TEXT NOT NULL CHECK (severity IN ('low', 'medium', 'high')),
    loop_id  TEXT,
    what     TEXT NOT NULL,
    detail   TEXT NOT NULL
) STRICT;
CREATE INDEX incidents_by_time ON incidents (at);

-- AUTOINCREMENT, so that an id is never used twice: a reader goes on behind the last one it saw.
CREATE TABLE events (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    loop_id TEXT NOT NULL REFERENCES loops (id) ON DELETE CASCADE,
    at      INTEGER NOT NULL,
    kind    TEXT NOT NULL,
    text    TEXT NOT NULL
) STRICT;
CREATE INDEX events_of_loop ON events (loop_id, id);
CREATE INDEX events_of_kind ON events (loop_id, kind, id);

CREATE TABLE writes (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    at         INTEGER NOT NULL,
    repo       ANY,
    path       ANY NOT NULL,
    kind       TEXT NOT NULL CHECK (kind IN ('created', 'appended', 'replaced', 'made_dir', 'linked')),
    before     BLOB,
    added      BLOB,
    after_hash TEXT
) STRICT;
