-- The tables of design 5. Text that is digested is stored as the canonical bytes that were digested (bytea);
-- jsonb beside it is for queries and is never hashed. Every table is reached through search_path = inquest.
-- Lock order in every transaction: alert_group rows by key, the workspace's advisory lock, investigation,
-- effect rows by key, spend_day (workspace, then global) last.

create table receipt_body (
  workspace text not null,
  digest text not null,
  body bytea not null,
  primary key (workspace, digest)
);

create table intake_receipt (
  receipt_id text primary key,
  workspace text not null,
  intake text not null,
  receipt_key text not null,          -- sha256 of the sender's delivery id, else of the body
  keyed_by text not null default 'body' check (keyed_by in ('delivery', 'body')),
  body_digest text not null,
  received_at timestamptz not null default now(),
  remote text not null default '',
  state text not null check (state in ('accepted', 'quarantined', 'repeated')),
  reason text not null default '',    -- why quarantined: ours, with a byte offset where there is one
  members int not null default 1,     -- how many this post brought; one that yields none counts as one
  counts jsonb not null default '{}', -- of this post's members, by the words of the accounting equation
  warnings text[] not null default '{}',
  investigation_ids text[] not null default '{}' -- whose members they are
);
-- A sender's delivery id is taken once; later receipts under it are 'repeated'.
create unique index intake_receipt_delivery on intake_receipt (workspace, intake, receipt_key)
  where keyed_by = 'delivery' and state <> 'repeated';
create index intake_receipt_by_key on intake_receipt (workspace, intake, receipt_key);
create index intake_receipt_by_time on intake_receipt (workspace, received_at desc);

create table alert_group (
  workspace text not null,
  group_key text not null,
  episode_id text,                    -- the current episode, or the last one when that has ended
  primary key (workspace, group_key)
);

create table episode (
  episode_id text primary key,
  workspace text not null,
  group_key text not null,
  intake text not null,
  source text not null,
  opened_at timestamptz not null default now(),
  quiet_since timestamptz,            -- null while a member fires
  ended_at timestamptz,               -- set by the sweep after quiet_for of quiet, or by a successor
  severity_rank int not null,
  version int not null default 1,     -- moves when members join, stop or fire again
  previous_episode_id text,
  quiet_for interval not null,
  stale_after interval not null,
  next_stale_at timestamptz not null, -- no member goes stale before this
  sender jsonb not null default '{}',
  foreign key (workspace, group_key) references alert_group
);
create index episode_live on episode (next_stale_at) where ended_at is null;
create index episode_of_group on episode (workspace, group_key, opened_at desc);

create table alert (
  alert_id text primary key,
  workspace text not null,
  intake text not null,
  fingerprint text not null,
  starts_at timestamptz not null,     -- the sender's; received_at where it gave none
  episode_id text references episode, -- null for heartbeats and resolves that never fired here
  name text not null,
  status text not null check (status in ('firing', 'resolved')),
  -- For the index by fingerprint alone: while the tables are empty, a partial index whose condition a look-up by
  -- episode implies is as cheap as the right one, and a plan made then is kept.
  fires boolean not null generated always as (status = 'firing') stored,
  ends_at timestamptz,
  severity_rank int not null,
  body bytea not null,                -- canonical bytes of domain.alert.Alert
  labels jsonb not null default '{}',
  occurrences int not null default 1, -- posts that named it firing; 0 for a resolve that never fired here
  joined_version int not null default 0,  -- of its episode, when it became a member
  changed_version int not null default 0, -- of its episode, when its status last changed
  stale boolean not null default false,   -- resolved by stale_after of silence, not by its sender
  first_seen timestamptz not null default now(),
  last_seen timestamptz not null default now(),
  heartbeat boolean not null default false,
  unique (workspace, intake, fingerprint, starts_at)
) with (fillfactor = 80);
-- No index holds last_seen or occurrences: a repeat is then a heap-only update.
create index alert_of_episode on alert (episode_id, name);
create unique index alert_firing on alert (workspace, intake, fingerprint) where fires;
create index alert_in_episode on alert (episode_id, status);
create index alert_heartbeat on alert (workspace, name) where heartbeat;

create table investigation (
  investigation_id text primary key,
  workspace text not null,
  episode_id text not null references episode,
  session_id text not null,
  workflow text not null,
  status text not null check (status in
    ('deferred', 'queued', 'running', 'waiting', 'succeeded', 'failed', 'cancelled', 'deleting')),
  severity_rank int not null,
  not_before timestamptz,
  defer_reason text not null default '',
  owner_id text,
  generation int not null default 0,
  attempt int not null default 1,
  lease_expires_at timestamptz,
  version int not null default 0,
  claimed_version int not null default 0,     -- version after the claim's own generation_advanced
  released boolean not null default true,     -- the owner let go: a drain, a wait; costs no attempt
  stage_error boolean not null default false, -- the last owner ended by a stage error
  stalls int not null default 0,              -- releases in a row, without progress, because the database did not answer
  max_model_turns int,                        -- of plan_committed
  max_connector_effects int,
  deadline_at timestamptz,
  spend jsonb not null default '{}',
  parent_id text,
  origin jsonb not null default '{}',
  intake text not null default '',            -- '' for a re-run or a follow-up: they take no slot of max_new_per_hour
  receipt_id text not null default '',        -- of the post that opened it
  counted_as text not null default '',        -- the word under which its opener stands in that receipt's counts
  admitted_at timestamptz not null default now(), -- when it may start, as decided at accept
  verdict text not null default '',
  title text not null default '',
  service text not null default '',
  created_at timestamptz not null default now(),
  started_at timestamptz,
  ended_at timestamptz,
  rung_at timestamptz
);
create index investigation_runnable on investigation (workspace, severity_rank desc, created_at)
  where status in ('queued', 'running', 'waiting', 'deferred');
create index investigation_queued on investigation (workspace, severity_rank desc, created_at)
  where status = 'queued';
create index investigation_running on investigation (workspace) where status = 'running';
create index investigation_of_episode on investigation (episode_id);
create index investigation_admitted on investigation (workspace, intake, severity_rank, admitted_at desc)
  where intake <> '';
create index investigation_listing on investigation (workspace, created_at desc, investigation_id desc);

create table event (
  investigation_id text not null references investigation,
  seq int not null check (seq > 0),
  batch_id text not null,
  generation int not null,
  attempt int not null,
  kind text not null,
  schema_version int not null,
  body bytea not null,
  body_digest text not null,
  prev_digest text not null,
  committed_at timestamptz not null default clock_timestamp(),
  primary key (investigation_id, seq),
  constraint event_kind_is_known check (kind in
    ('run_started', 'plan_committed', 'stage_committed', 'episode_changed', 'turn_committed', 'batch_joined',
     'loop_steered', 'interrupt_raised', 'interrupt_answered', 'interrupt_expired', 'generation_advanced',
     'run_succeeded', 'run_failed', 'run_cancelled'))
);
-- What must be true whatever writes: one plan, one end. run_started is seq 1 by the function that appends.
create unique index event_one_plan on event (investigation_id) where kind = 'plan_committed';
create unique index event_one_end on event (investigation_id)
  where kind in ('run_succeeded', 'run_failed', 'run_cancelled');

create table content (
  workspace text not null,
  digest text not null,
  bytes bytea not null,
  primary key (workspace, digest)
);

create table content_ref (
  investigation_id text not null references investigation,
  workspace text not null,
  digest text not null,
  primary key (investigation_id, digest),
  foreign key (workspace, digest) references content
);

create table effect (
  investigation_id text not null references investigation,
  key text not null,
  kind text not null check (kind in ('model', 'query')),
  fingerprint text not null,
  tool_call_id text not null default '',
  provider_request_id text not null default '',
  provider_response_id text not null default '',
  generation int not null,
  attempt int not null,
  expected_version int not null,
  state text not null check (state in ('reserved', 'committed', 'abandoned')),
  outcome_digest text,
  dispatches int not null default 1,
  timeout_ms int not null,
  reserved_at timestamptz not null default clock_timestamp(),
  committed_at timestamptz,
  primary key (investigation_id, key),
  check ((state = 'committed') = (outcome_digest is not null))
);

create table interrupt (
  interrupt_id text primary key,
  investigation_id text not null references investigation,
  prompt text not null,
  raised_at timestamptz not null default now(),
  expires_at timestamptz not null,
  remaining interval not null,
  answer text,
  actor text,
  answered_at timestamptz
);

create table delivery_target (
  target_id text primary key,
  investigation_id text not null references investigation,
  workspace text not null,
  destination text not null,
  reference text,                     -- of the investigation's own message
  owner_id text,
  generation int not null default 0,
  lease_expires_at timestamptz,
  next_revision int not null default 1,
  rung_at timestamptz,
  unique (investigation_id, destination)
);

create table thread_root (
  episode_id text not null references episode,
  destination text not null,
  reference text not null,
  primary key (episode_id, destination)
);

create table delivery (
  target_id text not null references delivery_target,
  revision int not null,
  kind text not null check (kind in
    ('received', 'progress', 'question', 'report', 'members', 'failed', 'cancelled', 'resolved')),
  note text not null default '',
  state text not null check (state in
    ('planned', 'reserved', 'sent', 'superseded', 'unknown_outcome', 'failed')),
  owner_id text,
  generation int,
  fingerprint text,                   -- digest of the rendered bytes, in content
  send_deadline timestamptz,
  not_before timestamptz,
  attempts int not null default 0,
  outcome text not null default '',
  planned_at timestamptz not null default now(),
  sent_at timestamptz,
  primary key (target_id, revision)
);
create index delivery_due on delivery (target_id) where state in ('planned', 'reserved');

create table spend_day (
  workspace text not null,            -- '' is the whole installation
  day date not null,
  investigations int not null default 0,
  model_turns int not null default 0,
  connector_effects int not null default 0,
  input_tokens bigint not null default 0,
  output_tokens bigint not null default 0,
  usd_micros bigint not null default 0,
  primary key (workspace, day)
);

create table installation (
  only_one boolean primary key default true check (only_one),
  key_fingerprint text not null,      -- of the Ed25519 public key: workers that disagree refuse to start
  created_at timestamptz not null default now()
);
create table halt (
  workspace text primary key,         -- '' halts all
  since timestamptz not null default now(),
  actor text not null default ''
);
