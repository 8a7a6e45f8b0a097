-- Programs as callers: apps, whose requests are counted and limited together, and the API keys they present.
create table basalt.apps (
  id uuid primary key default gen_random_uuid(),
  name text not null check (name <> ''),
  description text not null default '',
  -- Null once the owner is deleted, and for the default app.
  owner_user_id uuid references basalt.users on delete set null,
  -- Requests per window; 0: not limited.
  rate_limit int not null default 0 check (rate_limit >= 0),
  rate_limit_window_seconds int not null default 60 check (rate_limit_window_seconds > 0),
  plan text not null default 'default',
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create index apps_created_at on basalt.apps (created_at desc, id);
create index apps_owner_user_id on basalt.apps (owner_user_id);

-- The app of requests that belong to no other.
insert into basalt.apps (id, name, created_at)
  values ('00000000-0000-0000-0000-000000000000', 'default', 'epoch');
