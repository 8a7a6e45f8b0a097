-- Sign-in of administrators with an OpenID provider.

create table basalt.administrator_identities (
  issuer text not null,
  -- Id of the person at the provider.
  subject text not null,
  administrator_id uuid not null references basalt.administrators on delete cascade,
  -- Time at which the provider no longer gave a role. While it is also the time at which the administrator was disabled,
  -- the next sign-in with a role enables them.
  lost_role_at timestamptz,
  created_at timestamptz not null default now(),
  last_sign_in_at timestamptz,
  primary key (issuer, subject),
  unique (administrator_id, issuer)
);

-- Sign-ins and renewed authentications that wait for the provider's response.
create table basalt.administrator_provider_sign_ins (
  state_hash bytea primary key,
  browser_hash bytea not null,
  -- Session whose administrator authenticates again; null for a sign-in.
  session_id uuid references basalt.admin_sessions on delete cascade,
  -- Page of the dashboard to return to; null for its first page.
  return_to text,
  started_at timestamptz not null default now(),
  expires_at timestamptz not null
);
create index administrator_provider_sign_ins_session on basalt.administrator_provider_sign_ins (session_id);
create index administrator_provider_sign_ins_expires_at on basalt.administrator_provider_sign_ins (expires_at);

alter table basalt.admin_sessions
  -- True if the provider reported two factors at the sign-in, or if such a session created the token.
  add column is_multi_factor bool not null default false;
