-- What a program may do beside reading and writing data: `email:send`, `sms:send`, `push:send`. Only an administrator grants
-- one; keys, clients and tokens that are there already have none.
alter table basalt.api_keys add column actions text[] not null default '{}';
alter table basalt.oauth_consents add column actions text[] not null default '{}';
alter table basalt.oauth_codes add column actions text[] not null default '{}';
alter table basalt.oauth_grants add column actions text[] not null default '{}';
-- Those of the grant, or fewer that the client asked for when it refreshed.
alter table basalt.oauth_access_tokens add column actions text[] not null default '{}';

drop trigger api_keys_version on basalt.api_keys;
create constraint trigger api_keys_version
  after update of user_id, app_id, scope, allowed_tables, actions, expires_at, revoked_at on basalt.api_keys
  deferrable initially deferred for each row execute function basalt.change_api_key_version();

drop trigger oauth_grants_version on basalt.oauth_grants;
create constraint trigger oauth_grants_version
  after update of revoked_at, scope, allowed_tables, actions, user_id on basalt.oauth_grants
  deferrable initially deferred for each row execute function basalt.change_oauth_version();

-- A client whose scopes are narrowed, by whatever hand, loses what it was given with the others, unless a wider one stays. An
-- action has no wider one.
create or replace function basalt.revoke_oauth_grants_beyond_scopes() returns trigger language plpgsql security definer
set search_path = pg_catalog as $$
begin
  update basalt.oauth_grants g set revoked_at = now()
  where g.client_id = new.id and g.revoked_at is null and (not new.scopes @> g.actions or not new.scopes && case g.scope
    when 'readonly' then array['readonly', 'readwrite', '*']
    when 'readwrite' then array['readwrite', '*']
    else array['*'] end);
  return null;
end $$;
