-- How long which pool refuses. A key is "pool:NAME", or "lane:NAME" where nobody else shares what it uses.
CREATE TABLE lane_marks (
    key TEXT PRIMARY KEY NOT NULL,
    lane TEXT NOT NULL,        -- the lane that met it
    until REAL NOT NULL,       -- epoch seconds
    reason TEXT NOT NULL,
    evidence TEXT NOT NULL,    -- confirmed, unverified
    measured_at REAL NOT NULL
) WITHOUT ROWID;

-- So many runs of a model in a day.
CREATE TABLE quotas (
    lane TEXT NOT NULL,        -- a lane, or "any": all of them together
    model TEXT NOT NULL,       -- the model's key; empty: a lane's own default
    per_day INTEGER NOT NULL,
    zone TEXT NOT NULL,        -- utc, local
    exhausted_until REAL,      -- the service itself refused until then
    PRIMARY KEY (lane, model)
) WITHOUT ROWID;

-- Every run that counts, from the moment its job is accepted.
CREATE TABLE lane_uses (
    job_id TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    lane TEXT NOT NULL,
    model TEXT NOT NULL,
    at REAL NOT NULL,
    PRIMARY KEY (job_id, attempt)
) WITHOUT ROWID;
CREATE INDEX lane_uses_by_model ON lane_uses (model, at);
