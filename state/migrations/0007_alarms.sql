-- Alarms: what needs whoever is in charge, since when, and what of it was pushed. One row for each.
CREATE TABLE alarms (
    alarm_id TEXT PRIMARY KEY NOT NULL,
    entity TEXT NOT NULL,      -- job:ID, session:ID, lane:KEY, fleet
    state TEXT NOT NULL,
    since REAL NOT NULL,
    ended REAL,                -- NULL while it is so
    owed INTEGER NOT NULL,     -- 1: a push was decided that is not known to be done
    record TEXT NOT NULL       -- messages.alarm.AlarmRecord as JSON
) WITHOUT ROWID;
CREATE INDEX alarms_open ON alarms (since) WHERE ended IS NULL;
CREATE INDEX alarms_ended ON alarms (ended) WHERE ended IS NOT NULL;
-- The heartbeat itself: whether it watches, and the newest fact that it has looked at.
CREATE TABLE heartbeat (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    armed INTEGER NOT NULL,
    upto INTEGER NOT NULL,
    at REAL NOT NULL
);
