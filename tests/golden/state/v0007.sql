-- A store as schema 6 wrote it. Never edited: it must load forever.
PRAGMA user_version = 7;
BEGIN TRANSACTION;
CREATE TABLE alarms (
    alarm_id TEXT PRIMARY KEY NOT NULL,
    entity TEXT NOT NULL,      -- job:ID, session:ID, lane:KEY, fleet
    state TEXT NOT NULL,
    since REAL NOT NULL,
    ended REAL,                -- NULL while it is so
    owed INTEGER NOT NULL,     -- 1: a push was decided that is not known to be done
    record TEXT NOT NULL       -- messages.alarm.AlarmRecord as JSON
) WITHOUT ROWID;
INSERT INTO "alarms" VALUES('job.20261118-110639-000000000001.blocked.1795000003000','job:20261118-110639-000000000001','blocked',1795000003.0,NULL,1,'{"alarm_id":"job.20261118-110639-000000000001.blocked.1795000003000","entity":"job:20261118-110639-000000000001","state":"blocked","since":1795000003.0,"kind":"fleet-state","once":false,"soft":false,"job_id":"20261118-110639-000000000001","session_id":null,"lane":"claude","label":"nightly","summary":"job nightly is blocked: no access to the registry","evidence":"blocked: no access to the registry","generation":"1f2e3d4c-3","raised_at":1795000003.5,"pushes":1,"pushed_at":1795000003.5,"told":0,"acknowledged_at":null,"ended_at":null,"ended_why":null}');
INSERT INTO "alarms" VALUES('job.x.dead.1795000001000','job:x','dead',1795000001.0,1795000002.0,0,'{"alarm_id":"job.x.dead.1795000001000","entity":"job:x","state":"dead","since":1795000001.0,"kind":"fleet-state","once":true,"soft":false,"job_id":"x","session_id":null,"lane":"claude","label":"nightly","summary":"job x failed","evidence":"blocked: no access to the registry","generation":"1f2e3d4c-3","raised_at":1795000003.5,"pushes":1,"pushed_at":1795000003.5,"told":1,"acknowledged_at":null,"ended_at":1795000002.0,"ended_why":"told"}');
CREATE TABLE facts (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    at REAL NOT NULL,          -- epoch seconds
    job_id TEXT,               -- NULL for facts about the supervisor
    kind TEXT NOT NULL,
    body TEXT NOT NULL         -- the fact as JSON
);
INSERT INTO "facts" VALUES(1,1795000000.0,NULL,'supervisor.started','{"kind":"supervisor.started","pid":4000,"version":"0.1.0","adopted":0}');
INSERT INTO "facts" VALUES(2,1795000001.0,'20261118-110641-000000000001','job.accepted','{"kind":"job.accepted","job_id":"20261118-110641-000000000001","record":{"job_id":"20261118-110641-000000000001","label":null,"group_id":null,"lane":"claude","vehicle":"claude","provider":"claude","verb":"run","posture":"READ-ONLY","shape":"one-shot","model":null,"model_observed":null,"tier":"mid","effort":null,"cwd":"/work tree/ünï","worktree":null,"branch":null,"local":false,"streamed":true,"agentic":true,"timeout_s":null,"windows":{},"state":"queued","exit":null,"exit_status":null,"reason":null,"outcome":null,"accepted_at":1795000001.0,"started":null,"ended":null,"attempt":0,"marker_id":null,"shim":null,"delegate":null,"conversation":null,"progress":{"last_marker":null,"reads":0,"writes":0,"bash":0,"percent":null},"cost":{"kind":"unknown","cash_usd":null,"measured":false,"plan":null,"tokens":null},"owner":null,"supervision":"supervised","cancel_requested":false,"ending":null,"note":null}}');
INSERT INTO "facts" VALUES(3,1795000001.0,'20261118-110641-000000000001','job.launching','{"kind":"job.launching","job_id":"20261118-110641-000000000001","attempt":1}');
INSERT INTO "facts" VALUES(4,1795000001.0,'20261118-110641-000000000001','job.spawned','{"kind":"job.spawned","job_id":"20261118-110641-000000000001","shim":{"pid":10,"started":1234.0,"boot_id":"boot"},"delegate":{"pid":11,"started":1234.0,"boot_id":"boot"}}');
INSERT INTO "facts" VALUES(5,1795000001.0,'20261118-110641-000000000001','job.progressed','{"kind":"job.progressed","job_id":"20261118-110641-000000000001","progress":{"last_marker":"1/2","reads":3,"writes":0,"bash":0,"percent":null},"model_observed":null,"conversation":null}');
INSERT INTO "facts" VALUES(6,1795000001.0,'20261118-110641-000000000001','job.ended','{"kind":"job.ended","job_id":"20261118-110641-000000000001","state":"done","exit":0,"exit_status":{"code":0,"signal":null,"lost":false,"error":null},"reason":null,"outcome":"passed","progress":{"last_marker":null,"reads":0,"writes":0,"bash":0,"percent":null},"cost":{"kind":"unknown","cash_usd":null,"measured":false,"plan":null,"tokens":null},"model_observed":null,"conversation":null,"note":null,"revises":false}');
INSERT INTO "facts" VALUES(7,1795000002.0,'20261118-110642-000000000002','job.accepted','{"kind":"job.accepted","job_id":"20261118-110642-000000000002","record":{"job_id":"20261118-110642-000000000002","label":null,"group_id":null,"lane":"claude","vehicle":"claude","provider":"claude","verb":"run","posture":"READ-ONLY","shape":"one-shot","model":null,"model_observed":null,"tier":"mid","effort":null,"cwd":"/work tree/ünï","worktree":null,"branch":null,"local":false,"streamed":true,"agentic":true,"timeout_s":null,"windows":{},"state":"queued","exit":null,"exit_status":null,"reason":null,"outcome":null,"accepted_at":1795000002.0,"started":null,"ended":null,"attempt":0,"marker_id":null,"shim":null,"delegate":null,"conversation":null,"progress":{"last_marker":null,"reads":0,"writes":0,"bash":0,"percent":null},"cost":{"kind":"unknown","cash_usd":null,"measured":false,"plan":null,"tokens":null},"owner":null,"supervision":"supervised","cancel_requested":false,"ending":null,"note":null}}');
INSERT INTO "facts" VALUES(8,1795000002.0,'20261118-110642-000000000002','job.launching','{"kind":"job.launching","job_id":"20261118-110642-000000000002","attempt":1}');
INSERT INTO "facts" VALUES(9,1795000002.0,'20261118-110642-000000000002','job.spawned','{"kind":"job.spawned","job_id":"20261118-110642-000000000002","shim":{"pid":10,"started":1234.0,"boot_id":"boot"},"delegate":{"pid":11,"started":1234.0,"boot_id":"boot"}}');
INSERT INTO "facts" VALUES(10,1795000002.0,'20261118-110642-000000000002','job.progressed','{"kind":"job.progressed","job_id":"20261118-110642-000000000002","progress":{"last_marker":"1/2","reads":3,"writes":0,"bash":0,"percent":null},"model_observed":null,"conversation":null}');
INSERT INTO "facts" VALUES(11,1795000002.0,'20261118-110642-000000000002','job.ended','{"kind":"job.ended","job_id":"20261118-110642-000000000002","state":"wedged","exit":0,"exit_status":{"code":0,"signal":null,"lost":false,"error":null},"reason":null,"outcome":"passed","progress":{"last_marker":null,"reads":0,"writes":0,"bash":0,"percent":null},"cost":{"kind":"unknown","cash_usd":null,"measured":false,"plan":null,"tokens":null},"model_observed":null,"conversation":null,"note":null,"revises":false}');
INSERT INTO "facts" VALUES(12,1795000003.0,'20261118-110643-000000000003','job.accepted','{"kind":"job.accepted","job_id":"20261118-110643-000000000003","record":{"job_id":"20261118-110643-000000000003","label":"fix ünit tests","group_id":"20261118-110819-000000000063","lane":"claude","vehicle":"claude","provider":"claude","verb":"run","posture":"READ-ONLY","shape":"one-shot","model":null,"model_observed":null,"tier":"mid","effort":null,"cwd":"/work tree/ünï","worktree":null,"branch":null,"local":false,"streamed":true,"agentic":true,"timeout_s":null,"windows":{},"state":"queued","exit":null,"exit_status":null,"reason":null,"outcome":null,"accepted_at":1795000003.0,"started":null,"ended":null,"attempt":0,"marker_id":null,"shim":null,"delegate":null,"conversation":null,"progress":{"last_marker":null,"reads":0,"writes":0,"bash":0,"percent":null},"cost":{"kind":"unknown","cash_usd":null,"measured":false,"plan":null,"tokens":null},"owner":null,"supervision":"supervised","cancel_requested":false,"ending":null,"note":null}}');
INSERT INTO "facts" VALUES(13,1795000004.0,'20261118-110644-000000000004','job.accepted','{"kind":"job.accepted","job_id":"20261118-110644-000000000004","record":{"job_id":"20261118-110644-000000000004","label":null,"group_id":null,"lane":"claude","vehicle":"claude","provider":"claude","verb":"run","posture":"READ-ONLY","shape":"one-shot","model":null,"model_observed":null,"tier":"mid","effort":null,"cwd":"/work tree/ünï","worktree":null,"branch":null,"local":false,"streamed":true,"agentic":true,"timeout_s":null,"windows":{},"state":"queued","exit":null,"exit_status":null,"reason":null,"outcome":null,"accepted_at":1795000004.0,"started":null,"ended":null,"attempt":0,"marker_id":null,"shim":null,"delegate":null,"conversation":null,"progress":{"last_marker":null,"reads":0,"writes":0,"bash":0,"percent":null},"cost":{"kind":"unknown","cash_usd":null,"measured":false,"plan":null,"tokens":null},"owner":null,"supervision":"supervised","cancel_requested":false,"ending":null,"note":null}}');
INSERT INTO "facts" VALUES(14,1795000004.0,'20261118-110644-000000000004','job.launching','{"kind":"job.launching","job_id":"20261118-110644-000000000004","attempt":1}');
INSERT INTO "facts" VALUES(15,1795000004.0,'20261118-110644-000000000004','job.spawned','{"kind":"job.spawned","job_id":"20261118-110644-000000000004","shim":{"pid":10,"started":1234.0,"boot_id":"boot"},"delegate":{"pid":11,"started":1234.0,"boot_id":"boot"}}');
INSERT INTO "facts" VALUES(16,1795000004.0,'20261118-110644-000000000004','job.state_changed','{"kind":"job.state_changed","job_id":"20261118-110644-000000000004","state":"stalled?","reason":"silent for 300 s"}');
INSERT INTO "facts" VALUES(17,1795000004.0,'20261118-110644-000000000004','job.cancel_requested','{"kind":"job.cancel_requested","job_id":"20261118-110644-000000000004","at_once":false}');
INSERT INTO "facts" VALUES(18,1795000004.0,'20261118-110644-000000000004','job.ending','{"kind":"job.ending","job_id":"20261118-110644-000000000004","cause":"cancel"}');
INSERT INTO "facts" VALUES(19,1795000005.0,'20261118-110645-000000000005','job.accepted','{"kind":"job.accepted","job_id":"20261118-110645-000000000005","record":{"job_id":"20261118-110645-000000000005","label":null,"group_id":null,"lane":"claude","vehicle":"claude","provider":"claude","verb":"run","posture":"READ-ONLY","shape":"one-shot","model":null,"model_observed":null,"tier":"mid","effort":null,"cwd":"/work tree/ünï","worktree":null,"branch":null,"local":false,"streamed":true,"agentic":true,"timeout_s":null,"windows":{},"state":"queued","exit":null,"exit_status":null,"reason":null,"outcome":null,"accepted_at":1795000005.0,"started":null,"ended":null,"attempt":0,"marker_id":null,"shim":null,"delegate":null,"conversation":null,"progress":{"last_marker":null,"reads":0,"writes":0,"bash":0,"percent":null},"cost":{"kind":"unknown","cash_usd":null,"measured":false,"plan":null,"tokens":null},"owner":null,"supervision":"supervised","cancel_requested":false,"ending":null,"note":null}}');
INSERT INTO "facts" VALUES(20,1795000005.0,'20261118-110645-000000000005','job.launching','{"kind":"job.launching","job_id":"20261118-110645-000000000005","attempt":1}');
INSERT INTO "facts" VALUES(21,1795000005.0,'20261118-110645-000000000005','job.spawned','{"kind":"job.spawned","job_id":"20261118-110645-000000000005","shim":{"pid":10,"started":1234.0,"boot_id":"boot"},"delegate":{"pid":11,"started":1234.0,"boot_id":"boot"}}');
INSERT INTO "facts" VALUES(22,1795000005.0,'20261118-110645-000000000005','job.progressed','{"kind":"job.progressed","job_id":"20261118-110645-000000000005","progress":{"last_marker":"1/2","reads":3,"writes":0,"bash":0,"percent":null},"model_observed":null,"conversation":null}');
INSERT INTO "facts" VALUES(23,1795000005.0,'20261118-110645-000000000005','job.ended','{"kind":"job.ended","job_id":"20261118-110645-000000000005","state":"done","exit":0,"exit_status":{"code":0,"signal":null,"lost":false,"error":null},"reason":null,"outcome":"passed","progress":{"last_marker":null,"reads":0,"writes":0,"bash":0,"percent":null},"cost":{"kind":"unknown","cash_usd":null,"measured":false,"plan":null,"tokens":null},"model_observed":null,"conversation":null,"note":null,"revises":false}');
INSERT INTO "facts" VALUES(24,1795000005.0,'20261118-110645-000000000005','job.removed','{"kind":"job.removed","job_id":"20261118-110645-000000000005"}');
INSERT INTO "facts" VALUES(25,1795000006.0,NULL,'supervisor.child_crashed','{"kind":"supervisor.child_crashed","child":"x","error":"y","restarted":true}');
CREATE TABLE gauges (
    key TEXT NOT NULL,         -- as in lane_marks
    name TEXT NOT NULL,        -- the window
    utilization REAL NOT NULL, -- 0.0 to 1.0
    resets_at REAL,            -- epoch seconds
    measured_at REAL NOT NULL,
    source TEXT NOT NULL,
    PRIMARY KEY (key, name)
) WITHOUT ROWID;
INSERT INTO "gauges" VALUES('pool:claude','five_hour',0.42,1795003600.0,1795000000.5,'run');
CREATE TABLE groups (
    group_id TEXT PRIMARY KEY NOT NULL,
    label TEXT,
    accepted_at REAL NOT NULL,
    ended REAL,                -- NULL while a member is live
    record TEXT NOT NULL       -- the whole record as JSON
);
INSERT INTO "groups" VALUES('fanout-20261118-110639-000000000001','nightly',1795000001.0,1795000050.0,'{"group_id":"fanout-20261118-110639-000000000001","label":"nightly","verb":"run","cwd":"/work tree/ünï","most":4,"capped":true,"members":[{"job_id":"20261118-110641-000000000001","label":"one","lane":"claude"}],"refused":[],"accepted_at":1795000001.0,"cancel_requested":false,"ended":1795000050.0,"owner":null}');
CREATE TABLE heartbeat (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    armed INTEGER NOT NULL,
    upto INTEGER NOT NULL,
    at REAL NOT NULL
);
INSERT INTO "heartbeat" VALUES(1,1,24,1795000000.0);
CREATE TABLE job_counts (
    state TEXT PRIMARY KEY NOT NULL,
    jobs INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO "job_counts" VALUES('done',1);
INSERT INTO "job_counts" VALUES('launching',0);
INSERT INTO "job_counts" VALUES('queued',1);
INSERT INTO "job_counts" VALUES('running',0);
INSERT INTO "job_counts" VALUES('stalled?',1);
INSERT INTO "job_counts" VALUES('wedged',1);
CREATE TABLE jobs (
    job_id TEXT PRIMARY KEY NOT NULL,
    label TEXT,
    group_id TEXT,
    state TEXT NOT NULL,
    accepted_at REAL NOT NULL,
    ended REAL,                -- NULL while the job is live
    record TEXT NOT NULL       -- the whole record as JSON
);
INSERT INTO "jobs" VALUES('20261118-110641-000000000001',NULL,NULL,'done',1795000001.0,1795000001.0,'{"job_id":"20261118-110641-000000000001","label":null,"group_id":null,"lane":"claude","vehicle":"claude","provider":"claude","verb":"run","posture":"READ-ONLY","shape":"one-shot","model":null,"model_observed":null,"tier":"mid","effort":null,"cwd":"/work tree/ünï","worktree":null,"branch":null,"local":false,"streamed":true,"agentic":true,"timeout_s":null,"windows":{},"state":"done","exit":0,"exit_status":{"code":0,"signal":null,"lost":false,"error":null},"reason":null,"outcome":"passed","accepted_at":1795000001.0,"started":1795000001.0,"ended":1795000001.0,"attempt":1,"marker_id":"secret-marker","shim":{"pid":10,"started":1234.0,"boot_id":"boot"},"delegate":{"pid":11,"started":1234.0,"boot_id":"boot"},"conversation":null,"progress":{"last_marker":"1/2","reads":3,"writes":0,"bash":0,"percent":null},"cost":{"kind":"unknown","cash_usd":null,"measured":false,"plan":null,"tokens":null},"owner":null,"supervision":"supervised","cancel_requested":false,"ending":null,"note":null}');
INSERT INTO "jobs" VALUES('20261118-110642-000000000002',NULL,NULL,'wedged',1795000002.0,1795000002.0,'{"job_id":"20261118-110642-000000000002","label":null,"group_id":null,"lane":"claude","vehicle":"claude","provider":"claude","verb":"run","posture":"READ-ONLY","shape":"one-shot","model":null,"model_observed":null,"tier":"mid","effort":null,"cwd":"/work tree/ünï","worktree":null,"branch":null,"local":false,"streamed":true,"agentic":true,"timeout_s":null,"windows":{},"state":"wedged","exit":0,"exit_status":{"code":0,"signal":null,"lost":false,"error":null},"reason":null,"outcome":"passed","accepted_at":1795000002.0,"started":1795000002.0,"ended":1795000002.0,"attempt":1,"marker_id":"secret-marker","shim":{"pid":10,"started":1234.0,"boot_id":"boot"},"delegate":{"pid":11,"started":1234.0,"boot_id":"boot"},"conversation":null,"progress":{"last_marker":"1/2","reads":3,"writes":0,"bash":0,"percent":null},"cost":{"kind":"unknown","cash_usd":null,"measured":false,"plan":null,"tokens":null},"owner":null,"supervision":"supervised","cancel_requested":false,"ending":null,"note":null}');
INSERT INTO "jobs" VALUES('20261118-110643-000000000003','fix ünit tests','20261118-110819-000000000063','queued',1795000003.0,NULL,'{"job_id":"20261118-110643-000000000003","label":"fix ünit tests","group_id":"20261118-110819-000000000063","lane":"claude","vehicle":"claude","provider":"claude","verb":"run","posture":"READ-ONLY","shape":"one-shot","model":null,"model_observed":null,"tier":"mid","effort":null,"cwd":"/work tree/ünï","worktree":null,"branch":null,"local":false,"streamed":true,"agentic":true,"timeout_s":null,"windows":{},"state":"queued","exit":null,"exit_status":null,"reason":null,"outcome":null,"accepted_at":1795000003.0,"started":null,"ended":null,"attempt":0,"marker_id":"secret-marker","shim":null,"delegate":null,"conversation":null,"progress":{"last_marker":null,"reads":0,"writes":0,"bash":0,"percent":null},"cost":{"kind":"unknown","cash_usd":null,"measured":false,"plan":null,"tokens":null},"owner":null,"supervision":"supervised","cancel_requested":false,"ending":null,"note":null}');
INSERT INTO "jobs" VALUES('20261118-110644-000000000004',NULL,NULL,'stalled?',1795000004.0,NULL,'{"job_id":"20261118-110644-000000000004","label":null,"group_id":null,"lane":"claude","vehicle":"claude","provider":"claude","verb":"run","posture":"READ-ONLY","shape":"one-shot","model":null,"model_observed":null,"tier":"mid","effort":null,"cwd":"/work tree/ünï","worktree":null,"branch":null,"local":false,"streamed":true,"agentic":true,"timeout_s":null,"windows":{},"state":"stalled?","exit":null,"exit_status":null,"reason":"silent for 300 s","outcome":null,"accepted_at":1795000004.0,"started":1795000004.0,"ended":null,"attempt":1,"marker_id":"secret-marker","shim":{"pid":10,"started":1234.0,"boot_id":"boot"},"delegate":{"pid":11,"started":1234.0,"boot_id":"boot"},"conversation":null,"progress":{"last_marker":null,"reads":0,"writes":0,"bash":0,"percent":null},"cost":{"kind":"unknown","cash_usd":null,"measured":false,"plan":null,"tokens":null},"owner":null,"supervision":"supervised","cancel_requested":true,"ending":"cancel","note":null}');
CREATE TABLE lane_marks (
    key TEXT PRIMARY KEY NOT NULL,
    lane TEXT NOT NULL,        -- the lane that met it
    until REAL NOT NULL,       -- epoch seconds
    reason TEXT NOT NULL,
    evidence TEXT NOT NULL,    -- confirmed, unverified
    measured_at REAL NOT NULL
) WITHOUT ROWID;
INSERT INTO "lane_marks" VALUES('pool:claude','claude',1795003600.0,'the plan''s limit is used up','confirmed',1795000100.0);
CREATE TABLE lane_uses (
    job_id TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    lane TEXT NOT NULL,
    model TEXT NOT NULL,
    at REAL NOT NULL,
    PRIMARY KEY (job_id, attempt)
) WITHOUT ROWID;
INSERT INTO "lane_uses" VALUES('20261118-110641-000000000001',1,'devin','glm-5-2',1795000050.0);
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
INSERT INTO "ledger" VALUES('20261118-110645-000000000005',1,1795000005.0,'claude',NULL,NULL,1,'unknown','',0,0,0,0,0,0,0,NULL);
INSERT INTO "ledger" VALUES('20261118-110641-000000000001',1,1795000001.0,'claude',NULL,NULL,1,'unknown','',0,0,0,0,0,0,0,NULL);
INSERT INTO "ledger" VALUES('20261118-110642-000000000002',1,1795000002.0,'claude',NULL,NULL,0,'unknown','',0,0,0,0,0,0,0,NULL);
CREATE TABLE migrations (
    number INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    at REAL NOT NULL
);
INSERT INTO "migrations" VALUES(1,'0001_initial',1795000000.0);
INSERT INTO "migrations" VALUES(2,'0002_limits',1795000100.0);
INSERT INTO "migrations" VALUES(3,'0003_sessions',1795000500.0);
INSERT INTO "migrations" VALUES(4,'0004_ledger',1795000010.0);
INSERT INTO "migrations" VALUES(5,'0005_groups',1795000700.0);
INSERT INTO "migrations" VALUES(6,'0006_outcomes',1795000900.0);
INSERT INTO "migrations" VALUES(7,'0007_alarms',1795001000.0);
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
INSERT INTO "outcomes" VALUES('20261118-110641-000000000001','passed','person','code','/home/ann/project','devin','glm-5-2',1795000800.0);
CREATE TABLE quotas (
    lane TEXT NOT NULL,        -- a lane, or "any": all of them together
    model TEXT NOT NULL,       -- the model's key; empty: a lane's own default
    per_day INTEGER NOT NULL,
    zone TEXT NOT NULL,        -- utc, local
    exhausted_until REAL,      -- the service itself refused until then
    PRIMARY KEY (lane, model)
) WITHOUT ROWID;
INSERT INTO "quotas" VALUES('any','sonnet',5,'utc',1795003600.0);
INSERT INTO "quotas" VALUES('devin','glm-5-2',20,'local',NULL);
CREATE TABLE sessions (
    session_id TEXT PRIMARY KEY NOT NULL,
    name TEXT NOT NULL,
    cwd TEXT NOT NULL,
    state TEXT NOT NULL,
    accepted_at REAL NOT NULL,
    ended REAL,                -- NULL while the session is live
    record TEXT NOT NULL       -- the whole record as JSON
);
CREATE INDEX facts_by_job ON facts (job_id, seq) WHERE job_id IS NOT NULL;
CREATE INDEX facts_by_kind ON facts (kind, seq);
CREATE INDEX jobs_newest ON jobs (accepted_at DESC, job_id DESC);
CREATE INDEX jobs_by_state ON jobs (state, accepted_at DESC, job_id DESC);
CREATE INDEX jobs_by_label ON jobs (label, accepted_at DESC, job_id DESC) WHERE label IS NOT NULL;
CREATE INDEX jobs_by_group ON jobs (group_id, accepted_at, job_id) WHERE group_id IS NOT NULL;
CREATE INDEX jobs_live ON jobs (accepted_at, job_id) WHERE ended IS NULL;
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
CREATE INDEX lane_uses_by_model ON lane_uses (model, at);
CREATE INDEX groups_newest ON groups (accepted_at DESC, group_id DESC);
CREATE INDEX groups_live ON groups (accepted_at) WHERE ended IS NULL;
CREATE INDEX outcomes_by_time ON outcomes (at);
CREATE INDEX sessions_newest ON sessions (accepted_at DESC, session_id DESC);
CREATE INDEX sessions_live ON sessions (name) WHERE ended IS NULL;
CREATE INDEX ledger_by_time ON ledger (at);
CREATE INDEX alarms_open ON alarms (since) WHERE ended IS NULL;
CREATE INDEX alarms_ended ON alarms (ended) WHERE ended IS NOT NULL;
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('facts',25);
COMMIT;
