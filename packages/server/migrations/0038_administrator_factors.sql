-- Second factors of administrators.

create table basalt.administrator_totp (
  administrator_id uuid primary key references basalt.administrators on delete cascade,
  -- Shared secret, encrypted.
  secret text not null,
  -- Latest time step that a code was accepted for. This one and earlier ones are rejected.
  last_step bigint,
  -- Null while the enrolment is unconfirmed.
  confirmed_at timestamptz,
  created_at timestamptz not null default now()
);

create table basalt.administrator_passkeys (
  id uuid primary key default gen_random_uuid(),
  administrator_id uuid not null references basalt.administrators on delete cascade,
  credential_id text not null unique,
  public_key bytea not null,
  sign_count bigint not null,
  transports text[] not null default '{}',
  display_name text not null,
  is_backup_eligible bool not null,
  is_backed_up bool not null,
  is_user_verified bool not null,
  aaguid text not null,
  created_at timestamptz not null default now(),
  last_used_at timestamptz
);
create index administrator_passkeys_administrator on basalt.administrator_passkeys (administrator_id);

create table basalt.administrator_backup_codes (
  id uuid primary key default gen_random_uuid(),
  administrator_id uuid not null references basalt.administrators on delete cascade,
  -- Code, encrypted. A used one is deleted.
  code text not null
);
create index administrator_backup_codes_administrator on basalt.administrator_backup_codes (administrator_id);

-- Sign-ins whose first factor has passed and whose second one is due.
create table basalt.administrator_pending_sign_ins (
  token_hash bytea primary key,
  administrator_id uuid not null references basalt.administrators on delete cascade,
  expires_at timestamptz not null
);
create index administrator_pending_sign_ins_administrator
  on basalt.administrator_pending_sign_ins (administrator_id);

-- Challenges that passkeys sign.
create table basalt.administrator_challenges (
  id uuid primary key default gen_random_uuid(),
  -- Null for a sign-in by passkey alone, which names its administrator.
  administrator_id uuid references basalt.administrators on delete cascade,
  purpose text not null check (purpose in ('enroll', 'verify', 'sign_in')),
  challenge text not null,
  expires_at timestamptz not null
);
create index administrator_challenges_administrator on basalt.administrator_challenges (administrator_id);
create index administrator_challenges_expires_at on basalt.administrator_challenges (expires_at);

alter table basalt.admin_sessions
  -- Last proof of a second factor by this session.
  add column second_factor_at timestamptz,
  -- True for a token of a program that needs no fresh second factor.
  add column passes_step_up bool not null default false;

create function basalt.has_second_factor(administrator uuid) returns bool
language sql stable set search_path = pg_catalog as $$
  select exists (select from basalt.administrator_totp where administrator_id = administrator and confirmed_at is not null)
    or exists (select from basalt.administrator_passkeys where administrator_id = administrator)
$$;
revoke all on function basalt.has_second_factor(uuid) from public;

-- What a password or a right has begun ends with it.
create or replace function basalt.end_sessions_of_administrator() returns trigger language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
begin
  delete from basalt.admin_sessions where administrator_id = new.id;
  delete from basalt.administrator_pending_sign_ins where administrator_id = new.id;
  return null;
end $$;
create function basalt.end_pending_sign_ins_of_administrator() returns trigger language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
begin
  delete from basalt.administrator_pending_sign_ins where administrator_id = new.id;
  return null;
end $$;
revoke all on function basalt.end_pending_sign_ins_of_administrator() from public;
create trigger administrators_password_changed after update of password_hash on basalt.administrators
  for each row when (old.password_hash is distinct from new.password_hash)
  execute function basalt.end_pending_sign_ins_of_administrator();
