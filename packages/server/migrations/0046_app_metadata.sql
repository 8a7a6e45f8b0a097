-- Facts about a user that only the server, functions and administrators set, such as a plan or a tenant.
alter table basalt.users add column app_metadata jsonb not null default '{}';
-- The rows that exist have the default. A check of them would read the table while it is locked.
alter table basalt.users add constraint users_app_metadata_check
  check (jsonb_typeof(app_metadata) = 'object' and octet_length(app_metadata::text) <= 8192) not valid;

-- The caller's own, for policies; null where there is no user. Callers have no privilege on the table.
create function basalt.app_metadata() returns jsonb language sql stable parallel safe security definer
  set search_path = pg_catalog
  as $$ select app_metadata from basalt.users where id = basalt.user_id() $$;
grant execute on function basalt.app_metadata() to public;

-- For functions that run as the administrator, and for roles that the operator grants it to.
create function basalt.set_app_metadata(user_id uuid, app_metadata jsonb) returns bool
  language plpgsql security definer set search_path = pg_catalog as $$
begin
  if jsonb_typeof($2) is distinct from 'object' or octet_length($2::text) > 8192 then
    raise exception 'app_metadata: expected an object of at most 8192 bytes' using errcode = 'invalid_parameter_value';
  end if;
  update basalt.users set app_metadata = $2, updated_at = now() where id = $1;
  return found;
end $$;
revoke all on function basalt.set_app_metadata(uuid, jsonb) from public;

-- Claims that a function of the operator has added to the access token are among the others, which they cannot replace.
create or replace function basalt.claims() returns jsonb language sql stable parallel safe
  as $$
    select case when nullif(current_setting('basalt.user_id', true), '') is not null then
      coalesce(nullif(current_setting('basalt.custom_claims', true), '')::jsonb, '{}') || jsonb_strip_nulls(
      jsonb_build_object(
        'sub', current_setting('basalt.user_id', true),
        'email', current_setting('basalt.user_email', true),
        'email_verified', nullif(current_setting('basalt.email_verified', true), '')::bool,
        'aal', nullif(current_setting('basalt.aal', true), ''),
        'is_anonymous', nullif(current_setting('basalt.is_anonymous', true), '')::bool,
        'sid', nullif(current_setting('basalt.session_id', true), ''))) end
  $$;
