-- What operators use: the administrator, limits of attempts, the audit log, the log, requests, usage.

-- The administrator: one row.
create table basalt.admin (
  is_only bool primary key default true check (is_only),
  password_hash text not null,
  updated_at timestamptz not null default now()
);

create table basalt.admin_sessions (
  id uuid primary key default gen_random_uuid(),
  token_hash bytea not null unique,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  -- When a session in a cookie ends unless a request moves it; null for tokens of programs.
  idle_expires_at timestamptz
);
create index admin_sessions_expires_at on basalt.admin_sessions (expires_at);

-- Codes of one-time sign-in links.
create table basalt.admin_sign_in_codes (
  code_hash bytea primary key,
  expires_at timestamptz not null
);

-- Attempts per key within a window, counted by one conditional statement (see features/throttle).
create table basalt.attempts (
  key text primary key,
  count int not null,
  window_ends_at timestamptz not null
);
create index attempts_window_ends_at on basalt.attempts (window_ends_at);

-- What administrators did, and changes of rows in the tables of `audit.tables`.
create table basalt.audit (
  id bigint generated always as identity primary key,
  happened_at timestamptz not null default now(),
  actor text not null,
  action text not null,
  target text,
  detail jsonb not null default '{}',
  address text,
  request_id text,
  app_id uuid,
  api_key_id text,
  user_id text,
  -- INSERT, UPDATE, DELETE or TRUNCATE. Without a check: PostgreSQL would prepare it for each statement anew, a fifth of
  -- what a recorded row costs, and no statement but those below writes it.
  operation text,
  table_name text,
  record_id text,
  old_values jsonb,
  new_values jsonb
);
-- Rows are appended in the order of their time and never change, so a summary per block range finds them, and an insert
-- touches no index but the key: four B-trees made it three times as expensive (PostgreSQL manual, "BRIN Indexes").
create index audit_blocks on basalt.audit
  using brin (happened_at, table_name text_bloom_ops, user_id text_bloom_ops, request_id text_bloom_ops)
  with (pages_per_range = 32, autosummarize = true);

-- The origin of a write without one, of plain SQL. A function, which is not inlined: its expressions would be prepared for
-- the writes of the API, too, whose transactions have a setting that says it.
create function basalt.audit_origin() returns text
language plpgsql stable set search_path = pg_catalog as $$
begin
  return case when coalesce(current_setting('basalt.user_id', true), '') = '' then '["sql"]'
    else json_build_array('user', current_setting('basalt.user_id'))::text end;
end $$;
revoke all on function basalt.audit_origin() from public;

-- The values of a primary key of several columns. Arguments as of the triggers, whose array begins at 0.
create function basalt.audit_key(changed jsonb, arguments text[]) returns text
language sql immutable set search_path = pg_catalog as $$
  select string_agg(changed ->> name, ',' order by place) from unnest(arguments[1:]) with ordinality as n (name, place)
$$;
revoke all on function basalt.audit_key(jsonb, text[]) from public;

-- The functions of the triggers. Arguments: the collection's name, then the columns of its primary key. They work as the
-- owner of basalt.audit, because a caller has no privilege on it. One statement and few expressions each, which is why
-- there is a function per operation: a transaction prepares every expression that it reaches. `origin` is a JSON array of
-- actor, user, API key, request, app and address.

-- Per statement, with the inserted rows in the transition table `changed`.
create function basalt.audit_inserts() returns trigger language plpgsql security definer set search_path = pg_catalog as $$
declare
  origin jsonb := coalesce(nullif(current_setting('basalt.origin', true), ''), basalt.audit_origin())::jsonb;
begin
  insert into basalt.audit (actor, action, operation, table_name, record_id, new_values, user_id,
    api_key_id, app_id, address, request_id)
  select origin ->> 0, 'rows.insert', 'INSERT', tg_argv[0],
    case when tg_nargs <= 2 then c.row ->> tg_argv[1] else basalt.audit_key(c.row, tg_argv) end, c.row, origin ->> 1,
    origin ->> 2, (origin ->> 4)::uuid, origin ->> 5, origin ->> 3
  from (select to_jsonb(t.*) as row from changed t offset 0) c;
  return null;
end $$;
revoke all on function basalt.audit_inserts() from public;

-- Per statement, with the deleted rows in the transition table `changed`.
create function basalt.audit_deletes() returns trigger language plpgsql security definer set search_path = pg_catalog as $$
declare
  origin jsonb := coalesce(nullif(current_setting('basalt.origin', true), ''), basalt.audit_origin())::jsonb;
begin
  insert into basalt.audit (actor, action, operation, table_name, record_id, old_values, user_id,
    api_key_id, app_id, address, request_id)
  select origin ->> 0, 'rows.delete', 'DELETE', tg_argv[0],
    case when tg_nargs <= 2 then c.row ->> tg_argv[1] else basalt.audit_key(c.row, tg_argv) end, c.row, origin ->> 1,
    origin ->> 2, (origin ->> 4)::uuid, origin ->> 5, origin ->> 3
  from (select to_jsonb(t.*) as row from changed t offset 0) c;
  return null;
end $$;
revoke all on function basalt.audit_deletes() from public;

-- Per row: updates, as two transition tables do not pair old and new rows, all changes of tables that have partitions
-- or inheritance children or are one, and truncations.
create function basalt.audit_row() returns trigger language plpgsql security definer set search_path = pg_catalog as $$
declare
  origin jsonb := coalesce(nullif(current_setting('basalt.origin', true), ''), basalt.audit_origin())::jsonb;
  before jsonb;
  after jsonb;
begin
  if tg_op in ('UPDATE', 'DELETE') then before := to_jsonb(old); end if;
  if tg_op in ('INSERT', 'UPDATE') then after := to_jsonb(new); end if;
  insert into basalt.audit (actor, action, operation, table_name, record_id, old_values, new_values, user_id,
    api_key_id, app_id, address, request_id)
  select origin ->> 0, 'rows.' || lower(tg_op), tg_op, tg_argv[0],
    case
      when tg_nargs <= 2 then coalesce(after, before) ->> tg_argv[1]
      else basalt.audit_key(coalesce(after, before), tg_argv)
    end,
    before, after, origin ->> 1, origin ->> 2, (origin ->> 4)::uuid, origin ->> 5, origin ->> 3;
  return null;
end $$;
revoke all on function basalt.audit_row() from public;

-- The log of all nodes.
create table basalt.logs (
  id bigint generated always as identity,
  -- What a live tail has read already is known from its snapshot, whatever order transactions commit in.
  transaction_id xid8 not null default pg_current_xact_id(),
  logged_at timestamptz not null,
  -- 10 trace, 20 debug, 30 info, 40 warn, 50 error, 60 fatal.
  level int not null,
  message text not null,
  attrs jsonb not null default '{}',
  node text not null,
  request_id text
);
create index logs_logged_at on basalt.logs (logged_at, id);
create index logs_transaction_id on basalt.logs (transaction_id);
create index logs_request_id on basalt.logs (request_id) where request_id is not null;

-- The requests that all nodes answered.
create table basalt.requests (
  -- Only tells those of one time apart: numbers are cached by sessions, and in no order of time.
  id bigint generated always as identity (cache 250),
  happened_at timestamptz not null,
  method text not null,
  path text not null,
  operation text,
  status int not null,
  duration_ms real not null,
  user_id text,
  api_key_id uuid,
  app_id uuid not null,
  -- Bytes on the connection, headers included.
  request_size bigint not null,
  response_size bigint not null,
  address text,
  request_id text not null,
  -- The administrator who acted as the user.
  impersonated_by text,
  node text not null
);
-- Without deduplication, as there are hardly two equal keys: a request is a small part of what it records.
create index requests_happened_at on basalt.requests (happened_at, id) with (deduplicate_items = off);
create index requests_request_id on basalt.requests (request_id) with (deduplicate_items = off);

-- What was used, by app and hour (UTC). Added up from the counters of all nodes.
create table basalt.usage_hours (
  app_id uuid not null,
  hour timestamptz not null,
  requests bigint not null default 0,
  bytes_in bigint not null default 0,
  bytes_out bigint not null default 0,
  procedure_calls bigint not null default 0,
  job_runs bigint not null default 0,
  -- Most streams open at once, over all nodes.
  realtime_peak int not null default 0,
  -- A stock: bytes stored when last measured; null while not measured.
  storage_bytes bigint,
  primary key (app_id, hour)
);
create index usage_hours_hour on basalt.usage_hours (hour);

-- Requests by endpoint and status. An endpoint is a method and the pattern of a route: their number is bounded.
create table basalt.usage_endpoints (
  app_id uuid not null,
  day date not null,
  endpoint text not null,
  status int not null,
  requests bigint not null,
  primary key (app_id, day, endpoint, status)
);
create index usage_endpoints_day on basalt.usage_endpoints (day);

-- The last batch of counters that each node has added, so that a batch whose answer was lost is not added twice.
create table basalt.usage_nodes (
  node uuid primary key,
  batch bigint not null,
  -- Open streams by app.
  connections jsonb not null default '{}',
  seen_at timestamptz not null default now()
);

-- Which node builds a vector index, one at a time (see features/data/vector-indexes/README.md).
create table basalt.vector_index_build (
  is_only bool primary key default true check (is_only),
  holder uuid not null,
  leased_until timestamptz not null
);

-- What writes with an Idempotency-Key have answered, for a day (see features/data/idempotency/README.md). `result` is null
-- only within the transaction of the write.
create table basalt.idempotency_keys (
  owner text not null,
  key text not null,
  -- SHA-256 of the request.
  fingerprint bytea not null,
  result text,
  created_at timestamptz not null default now(),
  primary key (owner, key)
);
create index idempotency_keys_created_at on basalt.idempotency_keys (created_at);

-- Advice that an administrator does not want to see (see features/data/advisors/README.md).
create table basalt.advice_dismissals (
  -- Of the rule and its object.
  advice_id text primary key,
  rule text not null,
  object text not null,
  reason text,
  dismissed_by text not null,
  dismissed_at timestamptz not null default now(),
  -- Null: for good.
  dismissed_until timestamptz
);
