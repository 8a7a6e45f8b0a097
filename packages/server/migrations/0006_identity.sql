-- People and their sessions. Everything that signs a person in is stored as a hash, or as what a key of the
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
-- Anonymous accounts to be removed.
create index users_anonymous on basalt.users (created_at) where is_anonymous;

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
  expires_at timestamptz not null,
  -- A revocation lasts as long as the last access token of its session, whatever auth.token_duration is by then.
  tokens_expire_at timestamptz not null default now() + interval '1 day',
  -- The administrator who acts as the user, and why. Such a session has no refresh token.
  impersonated_by text,
  impersonation_reason text,
  -- The session of the administrator, with which it ends.
  administrator_session uuid references basalt.admin_sessions on delete cascade,
  check ((impersonated_by is null) = (impersonation_reason is null)),
  check ((impersonated_by is null) = (administrator_session is null))
);
create index sessions_impersonated on basalt.sessions (created_at) where impersonated_by is not null;
create index sessions_administrator_session on basalt.sessions (administrator_session)
  where administrator_session is not null;
create index sessions_user_id on basalt.sessions (user_id);
create index sessions_expires_at on basalt.sessions (expires_at);

-- Sessions that ended while access tokens of theirs may still be in use; every node reads what is new here. The
-- transaction's id lets a reader miss none that commits late.
create table basalt.ended_sessions (
  -- Either a session, or a user who was deleted or disabled: access tokens without a session end with their user.
  session_id uuid not null,
  ended_at timestamptz not null default now(),
  ended_by xid8 not null default pg_current_xact_id(),
  tokens_expire_at timestamptz not null
);
create index ended_sessions_session_id on basalt.ended_sessions (session_id);
create index ended_sessions_ended_by on basalt.ended_sessions (ended_by);
create index ended_sessions_tokens_expire_at on basalt.ended_sessions (tokens_expire_at);

-- However a session ends, by the API, with its user or by hand, its access tokens end with it.
create function basalt.record_ended_sessions() returns trigger language plpgsql security definer
set search_path = pg_catalog as $$
begin
  insert into basalt.ended_sessions (session_id, tokens_expire_at) select id, tokens_expire_at from ended;
  return null;
end $$;
revoke all on function basalt.record_ended_sessions() from public;
create trigger sessions_ended after delete on basalt.sessions
  referencing old table as ended for each statement execute function basalt.record_ended_sessions();

-- Disabled users and deleted ones, by whatever hand. Tokens without a session last a day at most.
create function basalt.record_deleted_users() returns trigger language plpgsql security definer
set search_path = pg_catalog as $$
begin
  insert into basalt.ended_sessions (session_id, tokens_expire_at) select id, now() + interval '1 day' from ended;
  return null;
end $$;
revoke all on function basalt.record_deleted_users() from public;
create trigger users_deleted after delete on basalt.users
  referencing old table as ended for each statement execute function basalt.record_deleted_users();
create function basalt.record_disabled_user() returns trigger language plpgsql security definer
set search_path = pg_catalog as $$
begin
  insert into basalt.ended_sessions (session_id, tokens_expire_at) values (old.id, now() + interval '1 day');
  return null;
end $$;
revoke all on function basalt.record_disabled_user() from public;
create trigger users_disabled after update of disabled_at on basalt.users
  for each row when (old.disabled_at is null and new.disabled_at is not null)
  execute function basalt.record_disabled_user();

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

-- Codes sent to phones for a sign-in: one in force per number.
create table basalt.phone_codes (
  -- The job that sends it.
  id uuid primary key default gen_random_uuid(),
  phone text not null,
  code_hash bytea not null,
  attempts int not null default 0,
  -- As in mailed_tokens.
  used_at timestamptz,
  expires_at timestamptz not null
);
create unique index phone_codes_in_force on basalt.phone_codes (phone) where used_at is null;
create index phone_codes_expires_at on basalt.phone_codes (expires_at);

-- Second factors. One of each kind per user; passkeys are listed by themselves and share one factor.
create table basalt.mfa_factors (
  id uuid primary key default gen_random_uuid(),
  user_id uuid not null references basalt.users on delete cascade,
  method text not null check (method in ('totp', 'email', 'sms', 'webauthn')),
  -- TOTP: the shared secret, encrypted.
  secret text,
  -- TOTP: the latest time step that a code was taken of; this one and earlier ones are refused.
  last_step bigint,
  -- SMS: E.164.
  phone text,
  -- Null while the enrolment is unconfirmed.
  confirmed_at timestamptz,
  created_at timestamptz not null default now(),
  unique (user_id, method)
);
create index mfa_factors_unconfirmed on basalt.mfa_factors (created_at) where confirmed_at is null;

-- A first factor has passed, a second one is due. Gone with the user's sessions.
create table basalt.pending_sign_ins (
  id uuid primary key default gen_random_uuid(),
  user_id uuid not null references basalt.users on delete cascade,
  method text not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null
);
create index pending_sign_ins_user_id on basalt.pending_sign_ins (user_id);
create index pending_sign_ins_expires_at on basalt.pending_sign_ins (expires_at);

-- What a factor is asked for; used once, bound to user, method and purpose.
create table basalt.mfa_challenges (
  id uuid primary key default gen_random_uuid(),
  -- Null for a sign-in by passkey that does not name its user yet.
  user_id uuid references basalt.users on delete cascade,
  method text not null check (method in ('totp', 'email', 'sms', 'webauthn')),
  purpose text not null check (purpose in ('enroll', 'verify', 'sign_in')),
  -- Email and SMS: null until the code has been sent.
  code_hash bytea,
  -- Passkeys: what the authenticator signs.
  challenge text,
  -- Passkeys: which may answer, made-up ones for an address without any. Null: whichever tells whose it is.
  credential_ids text[],
  phone text,
  attempts int not null default 0,
  used_at timestamptz,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null
);
create index mfa_challenges_user_id on basalt.mfa_challenges (user_id, method, purpose, created_at);
create index mfa_challenges_expires_at on basalt.mfa_challenges (expires_at);

create table basalt.mfa_backup_codes (
  user_id uuid not null references basalt.users on delete cascade,
  code_hash bytea not null,
  used_at timestamptz,
  primary key (user_id, code_hash)
);

create table basalt.passkeys (
  id uuid primary key default gen_random_uuid(),
  user_id uuid not null references basalt.users on delete cascade,
  -- Unpadded base64url, as it travels.
  credential_id text not null unique,
  public_key bytea not null,
  sign_count bigint not null,
  transports text[] not null default '{}',
  display_name text not null,
  is_backup_eligible bool not null,
  is_backed_up bool not null,
  -- Whether it has verified its user, at its enrolment or since then beside another factor.
  is_user_verified bool not null,
  aaguid text not null,
  created_at timestamptz not null default now(),
  last_used_at timestamptz
);
create index passkeys_user_id on basalt.passkeys (user_id);

-- A token says that the address is verified: when that ends, or the address changes, its sessions end.
create function basalt.end_sessions_of_unverified() returns trigger language plpgsql security definer
set search_path = pg_catalog as $$
begin
  delete from basalt.pending_sign_ins where user_id = new.id;
  delete from basalt.sessions where user_id = new.id;
  return null;
end $$;
revoke all on function basalt.end_sessions_of_unverified() from public;
create trigger users_unverified after update of email, email_verified_at on basalt.users
  for each row when (old.email_verified_at is not null
    and (new.email_verified_at is null or new.email is distinct from old.email))
  execute function basalt.end_sessions_of_unverified();
