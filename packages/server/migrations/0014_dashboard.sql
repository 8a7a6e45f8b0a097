-- Runs of the SQL editor: those in flight, which another node can cancel, and the history.
create table basalt.sql_runs (
  id uuid primary key,
  -- Without passwords.
  query text not null,
  mode text not null check (mode in ('read', 'write')),
  run_as text not null,
  status text not null default 'running' check (status in ('running', 'succeeded', 'failed', 'canceled')),
  error text,
  statements int not null,
  row_count bigint,
  duration_ms int,
  -- The session of a run in flight; null with a pooler, which reports another's.
  backend_pid int,
  backend_start timestamptz,
  started_at timestamptz not null default clock_timestamp()
);
create index sql_runs_newest on basalt.sql_runs (started_at desc, id desc);

-- Views that administrators have begun, as which user and of which table: the audit has an entry for the first look of a
-- session, not for each page.
create table basalt.views_as (
  administrator_session uuid not null references basalt.admin_sessions on delete cascade,
  action text not null,
  user_id uuid not null,
  table_name text not null,
  primary key (administrator_session, user_id, table_name, action)
);

create table basalt.saved_queries (
  id uuid primary key default gen_random_uuid(),
  -- Folders are the parts before its slashes.
  name text not null unique check (char_length(name) between 1 and 200),
  query text not null,
  -- Counts the changes, so that a client that has read an older one does not overwrite a newer one.
  version int not null default 1,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
