-- What was learnt about an agent of a loop: its conversation, which outlives its session, what its turn hooks said
-- last of each kind, and the usage limit that it has met. Signals and limit are JSON.

CREATE TABLE witnessed (
    loop_id      TEXT NOT NULL REFERENCES loops (id) ON DELETE CASCADE,
    agent        TEXT NOT NULL,
    agent_key    TEXT NOT NULL,
    conversation TEXT,
    started      TEXT,
    finished     TEXT,
    asks         TEXT,
    limited      TEXT,
    PRIMARY KEY (loop_id, agent_key)
) STRICT, WITHOUT ROWID;
