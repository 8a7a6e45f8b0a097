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
  expires_at timestamptz not null
);
create index admin_sessions_expires_at on basalt.admin_sessions (expires_at);

-- Codes of one-time sign-in links.
create table basalt.admin_sign_in_codes (
  code_hash bytea primary key,
  expires_at timestamptz not null
);
