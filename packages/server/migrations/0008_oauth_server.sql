-- Programs of others, and what people let them do: an OAuth 2.0 authorization server (RFC 6749, RFC 9700).
create table basalt.oauth_clients (
  id uuid primary key default gen_random_uuid(),
  -- Null once the app is deleted: its clients are revoked.
  app_id uuid references basalt.apps,
  client_id text not null unique,
  name text not null check (name <> ''),
  client_type text not null check (client_type in ('confidential', 'public')),
  -- SHA-256; null for public clients.
  secret_hash bytea check ((secret_hash is null) = (client_type = 'public')),
  redirect_uris text[] not null,
  scopes text[] not null,
  -- Who has registered it: an administrator, the client itself (RFC 7591), or none: its id is the address of its document.
  source text not null default 'administrator' check (source in ('administrator', 'registration', 'document')),
  -- Until then the document need not be fetched again.
  document_expires_at timestamptz check ((document_expires_at is not null) = (source = 'document')),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  revoked_at timestamptz
);
create index oauth_clients_self_registered on basalt.oauth_clients (updated_at)
  where source <> 'administrator' and revoked_at is null;
create index oauth_clients_created_at on basalt.oauth_clients (created_at desc, id);
create index oauth_clients_app_id on basalt.oauth_clients (app_id);

-- What a person lets a client do: asked for once, until the client wants more.
create table basalt.oauth_consents (
  id uuid primary key default gen_random_uuid(),
  user_id uuid not null references basalt.users on delete cascade,
  client_id uuid not null references basalt.oauth_clients on delete cascade,
  scope text not null check (scope in ('*', 'readonly', 'readwrite')),
  -- Collections; empty: all.
  allowed_tables text[] not null default '{}',
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (user_id, client_id)
);
create index oauth_consents_client_id on basalt.oauth_consents (client_id);

-- What was given to a client: by the code of an authorization, or to the client itself, which has neither user nor consent.
create table basalt.oauth_grants (
  id uuid primary key,
  client_id uuid not null references basalt.oauth_clients on delete cascade,
  user_id uuid references basalt.users on delete cascade,
  consent_id uuid references basalt.oauth_consents on delete cascade,
  scope text not null check (scope in ('*', 'readonly', 'readwrite')),
  allowed_tables text[] not null default '{}',
  -- Of the refresh token in force; null where there is none.
  generation int,
  -- When the generations before it were replaced, the last ones.
  rotations timestamptz[] not null default '{}',
  created_at timestamptz not null default now(),
  last_issued_at timestamptz not null default now(),
  -- The last token of the grant is not valid any longer.
  expires_at timestamptz not null,
  revoked_at timestamptz,
  check ((user_id is null) = (consent_id is null))
);
create index oauth_grants_client_id on basalt.oauth_grants (client_id, expires_at);
create index oauth_grants_user_id on basalt.oauth_grants (user_id);
create index oauth_grants_consent_id on basalt.oauth_grants (consent_id);
create index oauth_grants_expires_at on basalt.oauth_grants (expires_at);

create table basalt.oauth_codes (
  code_hash bytea primary key,
  consent_id uuid not null references basalt.oauth_consents on delete cascade,
  client_id uuid not null references basalt.oauth_clients on delete cascade,
  user_id uuid not null references basalt.users on delete cascade,
  redirect_uri text not null,
  scope text not null,
  allowed_tables text[] not null default '{}',
  code_challenge text not null,
  expires_at timestamptz not null,
  used_at timestamptz,
  -- What it was redeemed for: kept as long as that, so that a replay revokes it.
  grant_id uuid references basalt.oauth_grants on delete cascade
);
create index oauth_codes_consent_id on basalt.oauth_codes (consent_id);
create index oauth_codes_client_id on basalt.oauth_codes (client_id);
create index oauth_codes_user_id on basalt.oauth_codes (user_id);
create index oauth_codes_grant_id on basalt.oauth_codes (grant_id);
create index oauth_codes_expires_at on basalt.oauth_codes (expires_at);

create table basalt.oauth_access_tokens (
  token_hash bytea primary key,
  grant_id uuid not null references basalt.oauth_grants on delete cascade,
  -- That of the grant, or a narrower one that the client asked for when it refreshed.
  scope text not null check (scope in ('*', 'readonly', 'readwrite')),
  created_at timestamptz not null default now(),
  expires_at timestamptz not null
);
create index oauth_access_tokens_grant_id on basalt.oauth_access_tokens (grant_id);
create index oauth_access_tokens_expires_at on basalt.oauth_access_tokens (expires_at);

-- A client of an app that is deleted must not become one without the app's limit.
create function basalt.revoke_oauth_clients_of_app() returns trigger language plpgsql security definer
set search_path = pg_catalog as $$
begin
  update basalt.oauth_clients set revoked_at = coalesce(revoked_at, now()), app_id = null where app_id = old.id;
  return old;
end $$;
revoke all on function basalt.revoke_oauth_clients_of_app() from public;
create trigger apps_revoke_oauth_clients before delete on basalt.apps
  for each row execute function basalt.revoke_oauth_clients_of_app();

-- A client whose scopes are narrowed, by whatever hand, loses what it was given with the others, unless a wider one stays.
create function basalt.revoke_oauth_grants_beyond_scopes() returns trigger language plpgsql security definer
set search_path = pg_catalog as $$
begin
  update basalt.oauth_grants g set revoked_at = now()
  where g.client_id = new.id and g.revoked_at is null and not new.scopes && case g.scope
    when 'readonly' then array['readonly', 'readwrite', '*']
    when 'readwrite' then array['readwrite', '*']
    else array['*'] end;
  return null;
end $$;
revoke all on function basalt.revoke_oauth_grants_beyond_scopes() from public;
create trigger oauth_clients_narrowed after update of scopes on basalt.oauth_clients
  for each row when (old.scopes is distinct from new.scopes)
  execute function basalt.revoke_oauth_grants_beyond_scopes();

-- Nodes keep access tokens in memory for as long as this version stays the same, as they do API keys.
create table basalt.oauth_version (
  is_only bool primary key default true check (is_only),
  version bigint not null default 0,
  changed_by xid8
);
insert into basalt.oauth_version default values;

create function basalt.change_oauth_version() returns trigger language plpgsql security definer
set search_path = pg_catalog as $$
begin
  update basalt.oauth_version set version = version + 1, changed_by = pg_current_xact_id()
  where changed_by is distinct from pg_current_xact_id();
  return null;
end $$;
revoke all on function basalt.change_oauth_version() from public;

-- What has expired anyway is in no memory.
create function basalt.change_oauth_version_of_expiring() returns trigger language plpgsql security definer
set search_path = pg_catalog as $$
begin
  if old.expires_at > now() - interval '1 minute' then
    update basalt.oauth_version set version = version + 1, changed_by = pg_current_xact_id()
    where changed_by is distinct from pg_current_xact_id();
  end if;
  return null;
end $$;
revoke all on function basalt.change_oauth_version_of_expiring() from public;

create function basalt.change_oauth_version_of_user() returns trigger language plpgsql security definer
set search_path = pg_catalog as $$
begin
  if exists (select from basalt.oauth_grants where user_id = new.id) then
    update basalt.oauth_version set version = version + 1, changed_by = pg_current_xact_id()
    where changed_by is distinct from pg_current_xact_id();
  end if;
  return null;
end $$;
revoke all on function basalt.change_oauth_version_of_user() from public;

create constraint trigger oauth_clients_version after update of app_id, revoked_at on basalt.oauth_clients
  deferrable initially deferred for each row execute function basalt.change_oauth_version();
create constraint trigger oauth_grants_version
  after update of revoked_at, scope, allowed_tables, user_id on basalt.oauth_grants
  deferrable initially deferred for each row execute function basalt.change_oauth_version();
create constraint trigger oauth_access_tokens_changed after update or delete on basalt.oauth_access_tokens
  deferrable initially deferred for each row execute function basalt.change_oauth_version_of_expiring();
create constraint trigger apps_oauth_version after update of rate_limit, rate_limit_window_seconds on basalt.apps
  deferrable initially deferred for each row execute function basalt.change_oauth_version();
create constraint trigger users_oauth_version
  after update of email, email_verified_at, is_anonymous, disabled_at on basalt.users
  deferrable initially deferred for each row
  when ((old.email, old.email_verified_at, old.is_anonymous, old.disabled_at)
    is distinct from (new.email, new.email_verified_at, new.is_anonymous, new.disabled_at))
  execute function basalt.change_oauth_version_of_user();

insert into basalt.schedules (name, job_type, cron_expr, next_run_at)
values
  ('expired_oauth_cleanup_daily', 'expired_oauth_cleanup', '0 4 * * *',
    (date_trunc('day', now() at time zone 'UTC') + interval '1 day 4 hours') at time zone 'UTC')
on conflict (name) do nothing;
