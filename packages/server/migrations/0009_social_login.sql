-- Identities at sign-in providers and at OpenID providers.
create table basalt.social_identities (
  provider text not null,
  -- The provider's id of the person.
  subject text not null,
  user_id uuid not null references basalt.users on delete cascade,
  -- As the provider reported them at the latest sign-in.
  email text,
  name text,
  -- False while it was linked by an access token whose audience the provider does not report: it starts no session.
  is_proven bool not null default true,
  -- Tokens of the provider, encrypted; null unless the provider is configured to keep them.
  tokens text,
  tokens_expire_at timestamptz,
  -- Whether a refresh token among them is still good, as far as is known.
  tokens_renewable bool not null default false,
  -- Why the latest renewal failed, when, and how many did in a row.
  renewal_failure text check (renewal_failure in ('revoked', 'unavailable')),
  renewal_failed_at timestamptz,
  renewal_failures int not null default 0,
  -- Not renewed before this time: another node does it, or the provider is given time.
  renew_after timestamptz,
  created_at timestamptz not null default now(),
  last_sign_in_at timestamptz,
  primary key (provider, subject)
);
create index social_identities_user_id on basalt.social_identities (user_id);
create index social_identities_tokens_expire_at on basalt.social_identities (tokens_expire_at)
  where tokens_renewable;

-- Sign-ins that wait for the provider's answer, by the hash of their state. Deleted when they are used.
create table basalt.social_sign_ins (
  state_hash bytea primary key,
  provider text not null,
  -- Hash of the cookie of the browser that began it.
  browser_hash bytea not null,
  redirect_to text,
  -- Hash of the client id of the stream that waits for the tokens.
  popup_hash bytea,
  -- The session that links the identity to its user; null for a sign-in.
  link_session_id uuid references basalt.sessions on delete cascade,
  -- The query of the authorization request whose page the person signs in on; null elsewhere.
  authorize_query text,
  expires_at timestamptz not null
);
create index social_sign_ins_expires_at on basalt.social_sign_ins (expires_at);
create index social_sign_ins_link_session_id on basalt.social_sign_ins (link_session_id)
  where link_session_id is not null;

-- Streams that wait for the tokens of a sign-in in another window. Deleted when they end.
create sequence basalt.social_popup_answers;
create table basalt.social_popups (
  id_hash bytea primary key,
  -- Hash of the cookie of the browser that opened the stream.
  browser_hash bytea not null,
  -- The tokens, encrypted, and the number of this answer; null before the sign-in has finished.
  answer text,
  answer_number bigint,
  expires_at timestamptz not null
);
create index social_popups_answered on basalt.social_popups (answer_number) where answer is not null;
create index social_popups_expires_at on basalt.social_popups (expires_at);

-- Whether the first factor has proved the address, which is verified once the second factor has passed.
alter table basalt.pending_sign_ins add column proves_email bool not null default false;

insert into basalt.schedules (name, job_type, cron_expr, next_run_at)
select name, job_type, cron_expr, date_trunc('hour', now()) + interval '1 hour'
from (values
  ('social_sign_in_cleanup', 'social_sign_in_cleanup', '*/10 * * * *'),
  ('oauth_provider_tokens_refresh_10m', 'oauth_provider_tokens_refresh', '*/5 * * * *')
) as built_in (name, job_type, cron_expr)
on conflict (name) do nothing;
