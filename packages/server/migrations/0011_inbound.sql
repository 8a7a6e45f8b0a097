-- Text messages that were sent, and what became of them.
create table basalt.sms_messages (
  id uuid primary key default gen_random_uuid(),
  -- The user who sent it; none for codes and for messages of the administration.
  user_id uuid references basalt.users on delete cascade,
  -- The same for every attempt to send one message.
  send_key text unique,
  recipient text not null,
  -- Codes are never stored.
  body text not null,
  provider text not null,
  -- What the provider calls it, or the id when it names none; null until the provider has taken it.
  message_id text,
  status text not null default 'pending' check (status in (
    'pending', 'accepted', 'queued', 'sending', 'sent', 'delivered', 'undelivered', 'failed', 'canceled')),
  error_message text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create index sms_messages_newest on basalt.sms_messages (created_at desc, id desc);
create index sms_messages_user on basalt.sms_messages (user_id, created_at desc, id desc);
-- Not unique: providers are not trusted to name every message differently.
create index sms_messages_provider on basalt.sms_messages (message_id, provider);

insert into basalt.schedules (name, job_type, cron_expr, next_run_at)
values ('sms_retention_daily', 'sms_retention', '0 4 * * *',
  (date_trunc('day', now() at time zone 'UTC') + interval '1 day 4 hours') at time zone 'UTC');
