-- What has happened, in order. seq is never reused, so that a reader can resume after any number.
CREATE TABLE facts (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    at REAL NOT NULL,          -- epoch seconds
    job_id TEXT,               -- NULL for facts about the supervisor
    kind TEXT NOT NULL,
    body TEXT NOT NULL         -- the fact as JSON
);
CREATE INDEX facts_by_job ON facts (job_id, seq) WHERE job_id IS NOT NULL;
CREATE INDEX facts_by_kind ON facts (kind, seq);

-- Every job as its facts make it: kept so that nothing has to be replayed.
CREATE TABLE jobs (
    job_id TEXT PRIMARY KEY NOT NULL,
    label TEXT,
    group_id TEXT,
    state TEXT NOT NULL,
    accepted_at REAL NOT NULL,
    ended REAL,                -- NULL while the job is live
    record TEXT NOT NULL       -- the whole record as JSON
);
CREATE INDEX jobs_newest ON jobs (accepted_at DESC, job_id DESC);
CREATE INDEX jobs_by_state ON jobs (state, accepted_at DESC, job_id DESC);
CREATE INDEX jobs_by_label ON jobs (label, accepted_at DESC, job_id DESC) WHERE label IS NOT NULL;
CREATE INDEX jobs_by_group ON jobs (group_id, accepted_at, job_id) WHERE group_id IS NOT NULL;
CREATE INDEX jobs_live ON jobs (accepted_at, job_id) WHERE ended IS NULL;

-- Jobs per state, so that "and N more" costs the same for ten jobs and for ten thousand.
CREATE TABLE job_counts (
    state TEXT PRIMARY KEY NOT NULL,
    jobs INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TRIGGER jobs_counted_in AFTER INSERT ON jobs BEGIN
    INSERT INTO job_counts (state, jobs) VALUES (new.state, 1)
    ON CONFLICT (state) DO UPDATE SET jobs = jobs + 1;
END;

CREATE TRIGGER jobs_counted_out AFTER DELETE ON jobs BEGIN
    UPDATE job_counts SET jobs = jobs - 1 WHERE state = old.state;
END;

CREATE TRIGGER jobs_recounted AFTER UPDATE OF state ON jobs WHEN old.state <> new.state BEGIN
    UPDATE job_counts SET jobs = jobs - 1 WHERE state = old.state;
    INSERT INTO job_counts (state, jobs) VALUES (new.state, 1)
    ON CONFLICT (state) DO UPDATE SET jobs = jobs + 1;
END;

-- When each schema came to this file.
CREATE TABLE migrations (
    number INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    at REAL NOT NULL
);
