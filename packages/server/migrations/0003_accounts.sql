-- People and their sessions. Everything that signs somebody in is stored as a hash, or as what a key of the
-- server is needed to make it from.
create table basalt.users (
  id uuid primary key default gen_random_uuid(),
  -- Normalized before it gets here; compared as it stands, byte for byte. Null when there is none.
  email text collate "C" unique,
  email_verified_at timestamptz,
  -- E.164.
  phone text unique,
  password_hash text,
  is_anonymous bool not null default false,
  -- When an anonymous user became one with credentials.
  linked_at timestamptz,
  disabled_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create index users_created_at on basalt.users (created_at);

create table basalt.sessions (
  id uuid primary key default gen_random_uuid(),
  user_id uuid not null references basalt.users on delete cascade,
  -- A refresh token is made of the session's id and this number by a key of the server. Rotation adds one.
  generation int not null default 1,
  -- When the last few generations were replaced, the latest at the end.
  rotations timestamptz[] not null default '{}',
  aal text not null check (aal in ('aal1', 'aal2')),
  amr text[] not null,
  user_agent text not null default '',
  ip_address text not null default '',
  created_at timestamptz not null default now(),
  last_active_at timestamptz not null default now(),
  expires_at timestamptz not null
);
create index sessions_user_id on basalt.sessions (user_id);
create index sessions_expires_at on basalt.sessions (expires_at);

-- Sessions that ended while access tokens of theirs may still be about; every node reads what is new here. The
-- transaction's id lets a reader miss none that commits late.
create table basalt.ended_sessions (
  session_id uuid not null,
  ended_at timestamptz not null default now(),
  ended_by xid8 not null default pg_current_xact_id()
);
create index ended_sessions_ended_by on basalt.ended_sessions (ended_by);
create index ended_sessions_ended_at on basalt.ended_sessions (ended_at);

-- However a session ends, by the API, with its user or by hand, its access tokens end with it.
create function basalt.record_ended_sessions() returns trigger language plpgsql security definer
set search_path = pg_catalog as $$
begin
  insert into basalt.ended_sessions (session_id) select id from ended;
  return null;
end $$;
revoke all on function basalt.record_ended_sessions() from public;
create trigger sessions_ended after delete on basalt.sessions
  referencing old table as ended for each statement execute function basalt.record_ended_sessions();

-- What a mailed link carries: used once, by one conditional update.
create table basalt.mailed_tokens (
  token_hash bytea primary key,
  purpose text not null check (purpose in ('password_reset', 'email_verification', 'magic_link')),
  email text not null,
  -- Null for a magic link, whose account may not exist yet.
  user_id uuid references basalt.users on delete cascade,
  -- When it was used up or replaced by a later one. The row stays: a mail that is sent again must not revive it.
  used_at timestamptz,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null
);
create unique index mailed_tokens_in_force on basalt.mailed_tokens (email, purpose) where used_at is null;
create index mailed_tokens_user_id on basalt.mailed_tokens (user_id);
create index mailed_tokens_expires_at on basalt.mailed_tokens (expires_at);

-- Codes sent to phones: one in force per number and purpose.
create table basalt.phone_codes (
  -- The job that sends it.
  id uuid primary key default gen_random_uuid(),
  phone text not null,
  purpose text not null check (purpose in ('sign_in')),
  code_hash bytea not null,
  attempts int not null default 0,
  -- As in mailed_tokens.
  used_at timestamptz,
  expires_at timestamptz not null
);
create unique index phone_codes_in_force on basalt.phone_codes (phone, purpose) where used_at is null;
create index phone_codes_expires_at on basalt.phone_codes (expires_at);
