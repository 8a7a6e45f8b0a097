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
  -- Null for a sign-in by passkey that has not told who it is.
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
