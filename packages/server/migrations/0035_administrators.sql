-- People who run the server, each with one role.
create table basalt.administrators (
  id uuid primary key default gen_random_uuid(),
  -- Null only for the first administrator, who signs in by a password alone, until an address is set.
  email text,
  role text not null check (role in ('owner', 'developer', 'support', 'viewer')),
  is_first bool unique check (is_first),
  -- Null until an invitation is accepted.
  password_hash text,
  disabled_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  last_sign_in_at timestamptz,
  check (is_first or email is not null)
);
create unique index administrators_email on basalt.administrators (lower(email));

insert into basalt.administrators (role, is_first, password_hash, updated_at)
select 'owner', true, password_hash, updated_at from basalt.admin;

-- Nodes of the previous version know one administrator. They read and write the first one by this view.
drop table basalt.admin;
create view basalt.admin as
select is_first as is_only, password_hash, updated_at, role from basalt.administrators
where is_first and role = 'owner' and disabled_at is null;
alter view basalt.admin alter column is_only set default true;
alter view basalt.admin alter column role set default 'owner';

create trigger administrators_password_replaced after update of password_hash on basalt.administrators
  for each row when (new.is_first and old.password_hash is distinct from new.password_hash)
  execute function basalt.end_derived_of_administrators();

create function basalt.first_administrator() returns uuid
language sql stable set search_path = pg_catalog as $$ select id from basalt.administrators where is_first $$;
revoke all on function basalt.first_administrator() from public;

-- Sessions end with their administrator. One without was created at the command line of the server. Nodes of the previous
-- version know no roles, so the hash of a session that may have fewer rights than an owner is one that they never compute.
alter table basalt.admin_sessions
  add column administrator_id uuid default basalt.first_administrator() references basalt.administrators on delete cascade,
  -- Role of a token, which may have fewer rights than its administrator; null for the same.
  add column role text check (role in ('owner', 'developer', 'support', 'viewer')),
  -- Set for tokens of programs that an administrator has named. They outlive sign-ins, and end with their administrator.
  add column name text,
  -- Address ranges from which a token may be used; null for all.
  add column allowed_addresses text[],
  add column last_used_at timestamptz,
  add column address text,
  add column user_agent text;
create index admin_sessions_administrator on basalt.admin_sessions (administrator_id);
create function basalt.end_sessions_of_administrator() returns trigger language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
begin
  delete from basalt.admin_sessions where administrator_id = new.id;
  return null;
end $$;
revoke all on function basalt.end_sessions_of_administrator() from public;
-- With fewer rights, what sessions have begun, such as signed addresses, ends with them.
create trigger administrators_reduced after update of disabled_at, role on basalt.administrators
  for each row when (
    old.disabled_at is null and new.disabled_at is not null
    or array_position(array['owner', 'developer', 'support', 'viewer'], new.role)
      > array_position(array['owner', 'developer', 'support', 'viewer'], old.role))
  execute function basalt.end_sessions_of_administrator();


-- Codes sign in, or set the password of an administrator who was invited or has forgotten it.
alter table basalt.admin_sign_in_codes
  add column administrator_id uuid default basalt.first_administrator() references basalt.administrators on delete cascade,
  add column purpose text not null default 'sign_in' check (purpose in ('sign_in', 'password'));

-- Preferences and tabs belong to an administrator.
insert into basalt.settings (key, value, updated_at)
select s.key || ' ' || a.id, s.value, s.updated_at from basalt.settings s, basalt.administrators a
where a.is_first and s.key in ('dashboard_preferences', 'sql_tabs');
create function basalt.delete_settings_of_administrator() returns trigger language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
begin
  delete from basalt.settings where key in ('dashboard_preferences ' || old.id, 'sql_tabs ' || old.id);
  return null;
end $$;
revoke all on function basalt.delete_settings_of_administrator() from public;
create trigger administrators_deleted after delete on basalt.administrators
  for each row execute function basalt.delete_settings_of_administrator();

-- Author of a saved query, who may change it, as owners may.
alter table basalt.saved_queries
  add column administrator_id uuid references basalt.administrators on delete set null;

-- Address of the administrator, where there is one.
alter table basalt.audit add column administrator text;
