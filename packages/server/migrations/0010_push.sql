-- Push messages: the devices that receive them, what was sent, and how it went for each device.
create table basalt.push_devices (
  id uuid primary key default gen_random_uuid(),
  app_id uuid not null references basalt.apps on delete cascade,
  -- Of the latest registration: a shared device moves to the user who signs in on it.
  user_id uuid not null references basalt.users on delete cascade,
  provider text not null check (provider in ('fcm', 'apns', 'webpush')),
  platform text not null check (platform in ('android', 'ios', 'web')),
  -- What the provider calls the device; of Web Push its endpoint.
  token text not null,
  -- SHA-256: a token may be longer than an entry of an index.
  token_hash bytea not null,
  -- Web Push: {"p256dh", "auth"}, the keys that messages are encrypted with.
  keys jsonb,
  device_name text not null default '',
  topics text[] not null default '{}',
  is_active bool not null default true,
  -- Why it is inactive: the provider's reason, or `revoked`.
  inactive_reason text,
  last_refreshed_at timestamptz not null default now(),
  last_used timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (app_id, provider, token_hash),
  check ((provider = 'webpush') = (keys is not null)),
  check (is_active = (inactive_reason is null))
);
create index push_devices_user on basalt.push_devices (user_id, app_id);
create index push_devices_newest on basalt.push_devices (created_at desc, id desc);
create index push_devices_topics on basalt.push_devices using gin (topics);

-- One message to the devices of a user, to one device, or to those of a topic.
create table basalt.push_sends (
  id uuid primary key default gen_random_uuid(),
  app_id uuid not null references basalt.apps on delete cascade,
  topic text,
  title text not null,
  body text not null,
  data jsonb not null,
  options jsonb not null,
  idempotency_key text,
  -- SHA-256 of the request; the same key with another request is refused.
  request_hash bytea,
  send_at timestamptz not null default now(),
  created_at timestamptz not null default now(),
  unique (app_id, idempotency_key),
  check ((idempotency_key is null) = (request_hash is null))
);
create index push_sends_created_at on basalt.push_sends (created_at);

create table basalt.push_deliveries (
  id uuid primary key default gen_random_uuid(),
  send_id uuid not null references basalt.push_sends on delete cascade,
  device_id uuid not null references basalt.push_devices on delete cascade,
  -- Of the device when the message was sent; no key, so that a device that moves keeps its history.
  user_id uuid not null,
  job_id uuid,
  status text not null default 'pending' check (status in ('pending', 'sent', 'failed', 'invalid_token')),
  -- Whether a failed delivery is not tried again.
  is_final bool not null default false,
  -- Counts the attempts; the outcome of an earlier one is rejected.
  attempts int not null default 0,
  error_code text,
  error_message text,
  provider_message_id text,
  sent_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (send_id, device_id)
);
create index push_deliveries_newest on basalt.push_deliveries (created_at desc, id desc);
create index push_deliveries_user on basalt.push_deliveries (user_id, created_at desc);
create index push_deliveries_device on basalt.push_deliveries (device_id);

insert into basalt.schedules (name, job_type, cron_expr, next_run_at)
values ('push_retention_daily', 'push_retention', '0 4 * * *',
  (date_trunc('day', now() at time zone 'UTC') + interval '1 day 4 hours') at time zone 'UTC');
