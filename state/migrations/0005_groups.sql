-- Every group of jobs as its facts make it. What its members do stands in their own rows (jobs.group_id).
CREATE TABLE groups (
    group_id TEXT PRIMARY KEY NOT NULL,
    label TEXT,
    accepted_at REAL NOT NULL,
    ended REAL,                -- NULL while a member is live
    record TEXT NOT NULL       -- the whole record as JSON
);
CREATE INDEX groups_newest ON groups (accepted_at DESC, group_id DESC);
CREATE INDEX groups_live ON groups (accepted_at) WHERE ended IS NULL;
