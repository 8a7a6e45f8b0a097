-- A revocation lasts as long as the last access token of its session, whatever auth.token_duration is by then. Of
-- sessions and revocations of before the life of the tokens is not known: it was at most a day.
alter table basalt.sessions
  add column tokens_expire_at timestamptz not null default now() + interval '1 day';
update basalt.sessions set tokens_expire_at = last_active_at + interval '1 day';

-- Either a session, or a user who was deleted or disabled: access tokens without a session end with their user.
alter table basalt.ended_sessions add column tokens_expire_at timestamptz;
update basalt.ended_sessions set tokens_expire_at = ended_at + interval '1 day';
alter table basalt.ended_sessions alter column tokens_expire_at set not null;
drop index basalt.ended_sessions_ended_at;
create index ended_sessions_tokens_expire_at on basalt.ended_sessions (tokens_expire_at);

create or replace function basalt.record_ended_sessions() returns trigger language plpgsql security definer
set search_path = pg_catalog as $$
begin
  insert into basalt.ended_sessions (session_id, tokens_expire_at) select id, tokens_expire_at from ended;
  return null;
end $$;

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

-- Addresses are compared in NFC (Unicode Standard Annex 15), which makes capitals of the signs for kelvin, angstrom and ohm.
-- Of several that become the same the verified or oldest one takes the spelling; the others keep theirs, and are reached by
-- id only.
do $$
begin
  if getdatabaseencoding() = 'UTF8' then
    update basalt.users u set email = chosen.composed
    from (
      select distinct on (composed) id, composed
      from (
        select *, normalize(
          translate(email, chr(8490) || chr(8491) || chr(8486), 'k' || chr(229) || chr(969)), NFC) as composed
        from basalt.users) as each
      where email <> composed
      order by composed, email_verified_at nulls last, created_at, id) as chosen
    where u.id = chosen.id
      and not exists (select 1 from basalt.users o where o.email = chosen.composed);
    update basalt.mailed_tokens set used_at = now() where email is not NFC normalized and used_at is null;
  end if;
end $$;

-- The code of an email factor went to the address.
update basalt.users u set email_verified_at = f.confirmed_at
from basalt.mfa_factors f
where f.user_id = u.id and f.method = 'email' and f.confirmed_at is not null
  and u.email is not null and u.email_verified_at is null;

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

-- What policies ask about the caller; null where there is none. Nothing else in this schema is open to anybody.
grant usage on schema basalt to public;

create function basalt.user_id() returns uuid language sql stable parallel safe
  as $$ select nullif(current_setting('basalt.user_id', true), '')::uuid $$;
create function basalt.user_email() returns text language sql stable parallel safe
  as $$ select nullif(current_setting('basalt.user_email', true), '') $$;
create function basalt.email_verified() returns bool language sql stable parallel safe
  as $$ select nullif(current_setting('basalt.email_verified', true), '')::bool $$;
create function basalt.aal() returns text language sql stable parallel safe
  as $$ select nullif(current_setting('basalt.aal', true), '') $$;
create function basalt.is_anonymous() returns bool language sql stable parallel safe
  as $$ select nullif(current_setting('basalt.is_anonymous', true), '')::bool $$;
create function basalt.session_id() returns uuid language sql stable parallel safe
  as $$ select nullif(current_setting('basalt.session_id', true), '')::uuid $$;
-- Named as in the access token.
create function basalt.claims() returns jsonb language sql stable parallel safe
  as $$
    select case when nullif(current_setting('basalt.user_id', true), '') is not null then jsonb_strip_nulls(
      jsonb_build_object(
        'sub', current_setting('basalt.user_id', true),
        'email', current_setting('basalt.user_email', true),
        'email_verified', nullif(current_setting('basalt.email_verified', true), '')::bool,
        'aal', nullif(current_setting('basalt.aal', true), ''),
        'is_anonymous', nullif(current_setting('basalt.is_anonymous', true), '')::bool,
        'sid', nullif(current_setting('basalt.session_id', true), ''))) end
  $$;
grant execute on function basalt.user_id(), basalt.user_email(), basalt.email_verified(), basalt.aal(),
  basalt.is_anonymous(), basalt.session_id(), basalt.claims() to public;
