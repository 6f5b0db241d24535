-- Every session as its facts make it. A session's facts bear its id in facts.job_id: the two kinds of id never meet.
CREATE TABLE sessions (
    session_id TEXT PRIMARY KEY NOT NULL,
    name TEXT NOT NULL,
    cwd TEXT NOT NULL,
    state TEXT NOT NULL,
    accepted_at REAL NOT NULL,
    ended REAL,                -- NULL while the session is live
    record TEXT NOT NULL       -- the whole record as JSON
);
CREATE INDEX sessions_newest ON sessions (accepted_at DESC, session_id DESC);
CREATE INDEX sessions_live ON sessions (name) WHERE ended IS NULL;
