-- The system schema: nobody but the login role may look into it.
create schema if not exists basalt;
revoke all on schema basalt from public;

create table basalt.migrations (
  version int primary key,
  name text not null,
  checksum text not null,
  applied_at timestamptz not null default now()
);

-- Values that all nodes share.
create table basalt.settings (
  key text primary key,
  value jsonb not null,
  updated_at timestamptz not null default now()
);

-- Exposed schemas whose tables were once opened to basalt_authenticated. What the operator revokes afterwards
-- stays revoked.
create table basalt.opened_schemas (
  schema_name text primary key,
  opened_at timestamptz not null default now()
);

-- Attempts per key within a window, counted by one conditional statement (see features/throttle).
create table basalt.attempts (
  key text primary key,
  count int not null,
  window_ends_at timestamptz not null
);
create index attempts_window_ends_at on basalt.attempts (window_ends_at);

-- What administrators did.
create table basalt.audit (
  id bigint generated always as identity primary key,
  happened_at timestamptz not null default now(),
  actor text not null,
  action text not null,
  target text,
  detail jsonb not null default '{}',
  address text
);
create index audit_happened_at on basalt.audit (happened_at);
