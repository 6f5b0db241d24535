-- What became of a job's result. The newest word counts; it outlives its job.
CREATE TABLE outcomes (
    job_id TEXT PRIMARY KEY NOT NULL,
    outcome TEXT NOT NULL,     -- passed, failed, reverted
    source TEXT NOT NULL,      -- person, check
    kind TEXT,                 -- the kind of task, NULL where it is not known
    project TEXT,              -- the root of its work tree
    lane TEXT NOT NULL,
    model TEXT NOT NULL,       -- the model's key; empty: a lane's own default
    at REAL NOT NULL
) WITHOUT ROWID;
CREATE INDEX outcomes_by_time ON outcomes (at);
