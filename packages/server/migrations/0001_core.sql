-- The system schema. Its tables are the login role's alone; policies may call the helpers at the end.
create schema if not exists basalt;
revoke all on schema basalt from public;
grant usage on schema basalt to public;

create table basalt.migrations (
  version int primary key,
  name text not null,
  checksum text not null,
  applied_at timestamptz not null default now()
);

-- Values that all nodes share.
create table basalt.settings (
  key text primary key,
  value jsonb not null,
  updated_at timestamptz not null default now()
);

-- Exposed schemas whose tables were once opened to basalt_authenticated. What the operator revokes afterwards
-- stays revoked.
create table basalt.opened_schemas (
  schema_name text primary key,
  opened_at timestamptz not null default now()
);

-- What policies ask about the caller; null where there is none.
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
