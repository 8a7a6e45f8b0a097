-- What sessions, grants and keys leave behind (signed addresses, resumable uploads, devices that were registered in a session)
-- ends with them: by sign-out, revocation, disabling, password reset and takeover; not with a session that only expires.

-- The session it was signed in: of a user or of an administrator; the user's own id for a token without a session. Null for
-- programs, and for what nodes of an earlier version have written, which ends with any session of its user.
alter table basalt.signed_addresses add column session_id uuid, add column grant_id uuid;
create index signed_addresses_session_id on basalt.signed_addresses (session_id) where session_id is not null;
create index signed_addresses_grant_id on basalt.signed_addresses (grant_id) where grant_id is not null;

alter table basalt.resumable_uploads
  add column session_id uuid, add column key_id uuid, add column client_id uuid, add column grant_id uuid;
create index resumable_uploads_session_id on basalt.resumable_uploads (session_id) where session_id is not null;
create index resumable_uploads_grant_id on basalt.resumable_uploads (grant_id) where grant_id is not null;

-- The session of the user who registered the device; null for an administrator.
alter table basalt.push_devices add column session_id uuid;
create index push_devices_session_id on basalt.push_devices (session_id) where session_id is not null;

-- Uploads only expire: deleting them locks what their app stores, before objects that the same transaction may delete. The
-- reaper deletes them. A request that adds to one loses its lease.
create function basalt.end_derived_of_sessions(sessions uuid[]) returns void language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
begin
  update basalt.resumable_uploads set expires_at = now(), lease = null, lease_until = null
  where id in (
    select id from basalt.resumable_uploads
    where session_id = any (sessions) and completed_at is null and expires_at > now()
    order by id for update);
  delete from basalt.signed_addresses where session_id = any (sessions);
  update basalt.push_devices set is_active = false, inactive_reason = 'revoked', updated_at = now()
  where session_id = any (sessions) and is_active;
end $$;
revoke all on function basalt.end_derived_of_sessions(uuid[]) from public;

-- Of all sessions of a user but one, those that have expired included. What programs have made ends with their keys and grants.
create function basalt.end_derived_of_user(owner uuid, except_session uuid) returns void language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
begin
  update basalt.resumable_uploads set expires_at = now(), lease = null, lease_until = null
  where id in (
    select id from basalt.resumable_uploads
    where user_id = owner and session_id is distinct from except_session and key_id is null and client_id is null
      and completed_at is null and expires_at > now()
    order by id for update);
  delete from basalt.signed_addresses
  where user_id = owner and session_id is distinct from except_session and key_id is null and client_id is null;
  update basalt.push_devices set is_active = false, inactive_reason = 'revoked', updated_at = now()
  where user_id = owner and session_id <> coalesce(except_session, '00000000-0000-0000-0000-000000000000') and is_active;
end $$;
revoke all on function basalt.end_derived_of_user(uuid, uuid) from public;

create or replace function basalt.record_ended_sessions() returns trigger language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
begin
  insert into basalt.ended_sessions (session_id, tokens_expire_at) select id, tokens_expire_at from ended;
  if exists (select from ended where expires_at > now()) then
    perform basalt.end_derived_of_sessions(array(select id from ended where expires_at > now()));
    delete from basalt.signed_addresses s using ended e
    where s.user_id = e.user_id and e.expires_at > now()
      and s.session_id is null and s.key_id is null and s.client_id is null;
    update basalt.resumable_uploads u set expires_at = now(), lease = null, lease_until = null
    from ended e
    where u.user_id = e.user_id and e.expires_at > now()
      and u.session_id is null and u.key_id is null and u.client_id is null
      and u.completed_at is null and u.expires_at > now();
  end if;
  return null;
end $$;

create or replace function basalt.record_disabled_user() returns trigger language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
begin
  insert into basalt.ended_sessions (session_id, tokens_expire_at) values (old.id, now() + interval '1 day');
  perform basalt.end_derived_of_user(old.id, null);
  return null;
end $$;

create or replace function basalt.end_sessions_of_unverified() returns trigger language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
begin
  delete from basalt.pending_sign_ins where user_id = new.id;
  delete from basalt.sessions where user_id = new.id;
  perform basalt.end_derived_of_user(new.id, null);
  return null;
end $$;

-- Administrators: a session that is ended, and all of them with the password.
create function basalt.record_ended_admin_sessions() returns trigger language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
begin
  perform basalt.end_derived_of_sessions(
    array(select id from ended where least(expires_at, idle_expires_at) > now()));
  return null;
end $$;
revoke all on function basalt.record_ended_admin_sessions() from public;
create trigger admin_sessions_ended after delete on basalt.admin_sessions
  referencing old table as ended for each statement execute function basalt.record_ended_admin_sessions();

create function basalt.end_derived_of_administrators() returns trigger language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
begin
  delete from basalt.signed_addresses where scope is null;
  return null;
end $$;
revoke all on function basalt.end_derived_of_administrators() from public;
create trigger admin_password_replaced after update of password_hash on basalt.admin
  for each row when (old.password_hash is distinct from new.password_hash)
  execute function basalt.end_derived_of_administrators();

-- A grant that is revoked, deleted with its consent, or narrowed.
create function basalt.end_derived_of_grant() returns trigger language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
begin
  update basalt.resumable_uploads set expires_at = now(), lease = null, lease_until = null
  where grant_id = old.id and completed_at is null and expires_at > now();
  delete from basalt.signed_addresses where grant_id = old.id;
  return null;
end $$;
revoke all on function basalt.end_derived_of_grant() from public;
create trigger oauth_grants_narrowed after update of revoked_at, scope, actions, allowed_tables on basalt.oauth_grants
  for each row
  when ((old.revoked_at, old.scope, old.actions, old.allowed_tables)
    is distinct from (new.revoked_at, new.scope, new.actions, new.allowed_tables))
  execute function basalt.end_derived_of_grant();
create trigger oauth_grants_deleted after delete on basalt.oauth_grants
  for each row when (old.expires_at > now()) execute function basalt.end_derived_of_grant();

-- Grants of the consent that have expired are no longer there to end what was signed with them.
create function basalt.end_derived_of_consent() returns trigger language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
begin
  update basalt.resumable_uploads set expires_at = now(), lease = null, lease_until = null
  where user_id = old.user_id and client_id = old.client_id and completed_at is null and expires_at > now();
  delete from basalt.signed_addresses where user_id = old.user_id and client_id = old.client_id;
  return null;
end $$;
revoke all on function basalt.end_derived_of_consent() from public;
create trigger oauth_consents_deleted after delete on basalt.oauth_consents
  for each row execute function basalt.end_derived_of_consent();

-- What opens an object ends when the object is another user's.
create function basalt.end_addresses_of_object() returns trigger language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
begin
  delete from basalt.signed_addresses
  where object_id = new.id or (kind = 'upload' and bucket = new.bucket and name = new.name);
  return null;
end $$;
revoke all on function basalt.end_addresses_of_object() from public;
create trigger objects_owner_changed after update of user_id on basalt.objects
  for each row when (old.user_id is distinct from new.user_id) execute function basalt.end_addresses_of_object();

-- Of the secrets of a key that were replaced one may live: the last.
delete from basalt.api_key_secrets s
where s.expires_at is not null and exists (
  select from basalt.api_key_secrets l
  where l.key_id = s.key_id and (l.expires_at, l.token_hash) > (s.expires_at, s.token_hash));

-- A consent that is given again with less narrows what was given before: codes, grants and access tokens. A grant of which no
-- collection is left is revoked: a list without any would mean all.
create function basalt.narrow_oauth_grants() returns trigger language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
declare
  ranks constant text[] := array['readonly', 'readwrite', '*'];
  rank constant int := array_position(ranks, new.scope);
  has_tables constant bool := cardinality(new.allowed_tables) > 0;
begin
  delete from basalt.oauth_codes c
  where c.consent_id = new.id and c.used_at is null
    and has_tables and cardinality(c.allowed_tables) > 0 and not c.allowed_tables && new.allowed_tables;
  update basalt.oauth_codes c set
    scope = ranks[least(rank, array_position(ranks, c.scope))],
    actions = array(select action from unnest(c.actions) action where action = any (new.actions)),
    allowed_tables = case
      when not has_tables then c.allowed_tables
      when c.allowed_tables = '{}' then new.allowed_tables
      else array(select name from unnest(c.allowed_tables) with ordinality t (name, n)
        where name = any (new.allowed_tables) order by n) end
  where c.consent_id = new.id and c.used_at is null
    and (array_position(ranks, c.scope) > rank or not c.actions <@ new.actions
      or has_tables and (c.allowed_tables = '{}' or not c.allowed_tables <@ new.allowed_tables));
  update basalt.oauth_grants g set revoked_at = now()
  where g.consent_id = new.id and g.revoked_at is null
    and has_tables and cardinality(g.allowed_tables) > 0 and not g.allowed_tables && new.allowed_tables;
  update basalt.oauth_grants g set
    scope = ranks[least(rank, array_position(ranks, g.scope))],
    actions = array(select action from unnest(g.actions) action where action = any (new.actions)),
    allowed_tables = case
      when not has_tables then g.allowed_tables
      when g.allowed_tables = '{}' then new.allowed_tables
      else array(select name from unnest(g.allowed_tables) with ordinality t (name, n)
        where name = any (new.allowed_tables) order by n) end
  where g.consent_id = new.id and g.revoked_at is null
    and (array_position(ranks, g.scope) > rank or not g.actions <@ new.actions
      or has_tables and (g.allowed_tables = '{}' or not g.allowed_tables <@ new.allowed_tables));
  update basalt.oauth_access_tokens t set
    scope = ranks[least(rank, array_position(ranks, t.scope))],
    actions = array(select action from unnest(t.actions) action where action = any (new.actions))
  from basalt.oauth_grants g
  where g.consent_id = new.id and t.grant_id = g.id
    and (array_position(ranks, t.scope) > rank or not t.actions <@ new.actions);
  if array_position(ranks, old.scope) > rank or not old.actions <@ new.actions
    or has_tables and (old.allowed_tables = '{}' or not old.allowed_tables <@ new.allowed_tables) then
    update basalt.resumable_uploads set expires_at = now(), lease = null, lease_until = null
    where user_id = new.user_id and client_id = new.client_id and completed_at is null and expires_at > now();
    delete from basalt.signed_addresses where user_id = new.user_id and client_id = new.client_id;
  end if;
  return null;
end $$;
revoke all on function basalt.narrow_oauth_grants() from public;
create trigger oauth_consents_narrowed after update of scope, actions, allowed_tables on basalt.oauth_consents
  for each row
  when ((old.scope, old.actions, old.allowed_tables) is distinct from (new.scope, new.actions, new.allowed_tables))
  execute function basalt.narrow_oauth_grants();
