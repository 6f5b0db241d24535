-- What every attempt of every job spent: one row each, also of those that failed. Outlives its job.
CREATE TABLE ledger (
    job_id TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    at REAL NOT NULL,          -- epoch seconds when it was over
    lane TEXT NOT NULL,
    model TEXT,                -- the one that answered, else the one asked for; NULL: the lane's own default
    group_id TEXT,
    ok INTEGER NOT NULL,       -- 1: the job was done by this attempt
    spent TEXT NOT NULL,       -- measured, estimated, unknown (cash); plan; local; nothing
    pool TEXT NOT NULL,        -- whose limit or money; empty: not known
    cash_nano INTEGER NOT NULL, -- 1e-9 USD; 0 where there is no figure
    known INTEGER NOT NULL,    -- 1: the tokens are known
    input INTEGER NOT NULL,
    cached_input INTEGER NOT NULL,
    cache_write INTEGER NOT NULL,
    output INTEGER NOT NULL,
    reasoning INTEGER NOT NULL,
    total TEXT,                -- where the CLI counts whole conversations: its own count, as JSON
    PRIMARY KEY (job_id, attempt)
);
CREATE INDEX ledger_by_time ON ledger (at);

-- How far each window of a plan's limit is used, as it was last told.
CREATE TABLE gauges (
    key TEXT NOT NULL,         -- as in lane_marks
    name TEXT NOT NULL,        -- the window
    utilization REAL NOT NULL, -- 0.0 to 1.0
    resets_at REAL,            -- epoch seconds
    measured_at REAL NOT NULL,
    source TEXT NOT NULL,
    PRIMARY KEY (key, name)
) WITHOUT ROWID;
