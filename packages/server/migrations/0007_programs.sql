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
insert into basalt.apps (id, name) values ('00000000-0000-0000-0000-000000000000', 'default');

-- Without it, requests that belong to no app could not be counted.
create function basalt.keep_default_app() returns trigger language plpgsql set search_path = pg_catalog as $$
begin
  raise exception 'the default app cannot be deleted' using errcode = '23503';
end $$;
revoke all on function basalt.keep_default_app() from public;
create trigger apps_default before delete on basalt.apps
  for each row when (old.id = '00000000-0000-0000-0000-000000000000') execute function basalt.keep_default_app();

create table basalt.api_keys (
  id uuid primary key default gen_random_uuid(),
  user_id uuid not null references basalt.users on delete cascade,
  app_id uuid references basalt.apps,
  name text not null check (name <> ''),
  -- How the secret in force begins, to recognize it by.
  key_prefix text not null,
  scope text not null check (scope in ('*', 'readonly', 'readwrite')),
  -- Collections; empty: all.
  allowed_tables text[] not null default '{}',
  last_used_at timestamptz,
  expires_at timestamptz,
  created_at timestamptz not null default now(),
  revoked_at timestamptz
);
create index api_keys_created_at on basalt.api_keys (created_at desc, id);
create index api_keys_user_id on basalt.api_keys (user_id);
create index api_keys_app_id on basalt.api_keys (app_id);

-- A key that was rotated has the secret before as well, until its grace period ends.
create table basalt.api_key_secrets (
  token_hash bytea primary key,
  key_id uuid not null references basalt.api_keys on delete cascade,
  -- Null for the secret in force.
  expires_at timestamptz
);
create index api_key_secrets_key_id on basalt.api_key_secrets (key_id);

-- A key of an app that is deleted must not become one without the app's limit.
create function basalt.revoke_api_keys_of_app() returns trigger language plpgsql security definer
set search_path = pg_catalog as $$
begin
  update basalt.api_keys set revoked_at = coalesce(revoked_at, now()), app_id = null where app_id = old.id;
  return old;
end $$;
revoke all on function basalt.revoke_api_keys_of_app() from public;
create trigger apps_revoke_keys before delete on basalt.apps
  for each row execute function basalt.revoke_api_keys_of_app();

-- Nodes keep keys in memory for as long as this version stays the same. It changes with whatever decides what a key opens,
-- by whatever hand, and last in the transaction, so that writers wait for one another no longer than a commit takes.
create table basalt.api_key_version (
  is_only bool primary key default true check (is_only),
  version bigint not null default 0,
  changed_by xid8
);
insert into basalt.api_key_version default values;

create function basalt.change_api_key_version() returns trigger language plpgsql security definer
set search_path = pg_catalog as $$
begin
  update basalt.api_key_version set version = version + 1, changed_by = pg_current_xact_id()
  where changed_by is distinct from pg_current_xact_id();
  return null;
end $$;
revoke all on function basalt.change_api_key_version() from public;

create function basalt.change_api_key_version_of_user() returns trigger language plpgsql security definer
set search_path = pg_catalog as $$
begin
  if exists (select from basalt.api_keys where user_id = new.id) then
    update basalt.api_key_version set version = version + 1, changed_by = pg_current_xact_id()
    where changed_by is distinct from pg_current_xact_id();
  end if;
  return null;
end $$;
revoke all on function basalt.change_api_key_version_of_user() from public;

create constraint trigger api_keys_version
  after update of user_id, app_id, scope, allowed_tables, expires_at, revoked_at on basalt.api_keys
  deferrable initially deferred for each row execute function basalt.change_api_key_version();
create constraint trigger api_keys_deleted after delete on basalt.api_keys
  deferrable initially deferred for each row execute function basalt.change_api_key_version();
create constraint trigger api_key_secrets_version after update or delete on basalt.api_key_secrets
  deferrable initially deferred for each row execute function basalt.change_api_key_version();
create constraint trigger apps_version after update of rate_limit, rate_limit_window_seconds, plan on basalt.apps
  deferrable initially deferred for each row execute function basalt.change_api_key_version();
create constraint trigger users_api_key_version
  after update of email, email_verified_at, is_anonymous, disabled_at on basalt.users
  deferrable initially deferred for each row
  when ((old.email, old.email_verified_at, old.is_anonymous, old.disabled_at)
    is distinct from (new.email, new.email_verified_at, new.is_anonymous, new.disabled_at))
  execute function basalt.change_api_key_version_of_user();

-- Permits for requests of a limited app, as nodes have them: leased, or used until a time.
create table basalt.permit_leases (
  id uuid primary key,
  app_id uuid not null references basalt.apps on delete cascade,
  permits int not null,
  -- Those of them that no request was waiting for.
  ahead int not null,
  begins_at timestamptz not null,
  -- No permit of the lease is used later.
  ends_at timestamptz not null
);
create index permit_leases_app_id on basalt.permit_leases (app_id, ends_at);

/*
 * Leases permits to a node. In any window that ends now there are never more requests than permits counted here: a permit
 * counts from its lease until a window after the last moment it may be used at. What nodes report of their leases makes both
 * exact: permits that were not used come back, those that were count from when they were used.
 *
 * wanted: requests that wait; more_wanted: permits to have ahead of requests, of which all nodes together get no more than
 * one in twenty-five, because they are lost to the other nodes meanwhile.
 * Answers null for an app without a limit.
 */
create function basalt.lease_permits(
  lease uuid, app uuid, wanted int, more_wanted int, lease_seconds float8, reports jsonb,
  out granted int, out retry_after_ms float8
) language plpgsql volatile security definer set search_path = pg_catalog as $$
declare
  request_limit int;
  window_length interval;
  moment timestamptz;
  counted bigint;
  outstanding bigint;
  granted_ahead int;
begin
  -- One lease of an app at a time; what is read below is what the one before has written.
  select rate_limit, make_interval(secs => rate_limit_window_seconds) into request_limit, window_length
  from basalt.apps where id = app for no key update;
  if not found or request_limit = 0 then
    return;
  end if;
  moment := clock_timestamp();
  update basalt.permit_leases l
  set permits = least(l.permits, r.used + r."left"), ahead = r."left",
    ends_at = case when r."left" > 0 then l.ends_at
      else least(l.ends_at, l.begins_at + make_interval(secs => r."usedForSeconds")) end
  from jsonb_to_recordset(reports) r (id uuid, used int, "left" int, "usedForSeconds" float8)
  where l.id = r.id and l.app_id = app;
  delete from basalt.permit_leases
  where app_id = app and (ends_at <= moment - window_length or permits = 0);
  select coalesce(sum(permits), 0), coalesce(sum(ahead) filter (where ends_at > moment), 0)
  into counted, outstanding from basalt.permit_leases where app_id = app;
  granted := greatest(0, least(wanted, request_limit - counted));
  granted_ahead := greatest(0, least(
    more_wanted, request_limit - counted - granted, (request_limit / 25 - outstanding + 1) / 2));
  if granted + granted_ahead > 0 then
    insert into basalt.permit_leases (id, app_id, permits, ahead, begins_at, ends_at)
    values (lease, app, granted + granted_ahead, granted_ahead, moment,
      moment + make_interval(secs => lease_seconds));
  end if;
  granted := granted + granted_ahead;
  if granted < wanted then
    select extract(epoch from min(ends_at) + window_length - moment) * 1000 into retry_after_ms
    from basalt.permit_leases where app_id = app;
  end if;
end $$;
revoke all on function basalt.lease_permits(uuid, uuid, int, int, float8, jsonb) from public;
