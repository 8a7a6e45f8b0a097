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

-- Reports of messages that are not known: the provider may report before its answer to the message is stored.
create table basalt.sms_early_reports (
  provider text not null,
  message_id text not null,
  status text not null,
  error_message text,
  received_at timestamptz not null default now(),
  primary key (provider, message_id, status)
);
create index sms_early_reports_received_at on basalt.sms_early_reports (received_at);

insert into basalt.schedules (name, job_type, cron_expr, next_run_at)
values ('sms_retention_daily', 'sms_retention', '0 4 * * *',
  (date_trunc('day', now() at time zone 'UTC') + interval '1 day 4 hours') at time zone 'UTC');

-- What the billing provider reported, once by its id. The state of an app follows from these rows, in the order in
-- which things happened and not in that in which they were reported.
create table basalt.billing_events (
  id text primary key,
  -- Order of arrival, for events of the same second.
  number int generated always as identity,
  type text not null,
  happened_at timestamptz not null,
  -- Of the checkout that gave the subscription to an app.
  app_id uuid references basalt.apps on delete set null,
  subscription_id text,
  customer_id text,
  -- What the event says of the subscription; null: nothing.
  plan text,
  status text check (status in ('unpaid', 'active', 'past_due', 'canceled', 'trialing', 'incomplete')),
  received_at timestamptz not null default now()
);
create index billing_events_subscription on basalt.billing_events (subscription_id);
create index billing_events_app on basalt.billing_events (app_id);

create table basalt.app_billing (
  app_id uuid primary key references basalt.apps on delete cascade,
  subscription_id text not null,
  customer_id text,
  plan text,
  status text not null,
  updated_at timestamptz not null default now()
);

-- Events that say nothing of a subscription, or that later ones have replaced.
insert into basalt.schedules (name, job_type, cron_expr, next_run_at)
values ('billing_event_retention_daily', 'billing_event_retention', '0 4 * * *',
  (date_trunc('day', now() at time zone 'UTC') + interval '1 day 4 hours') at time zone 'UTC');
create index billing_events_received_at on basalt.billing_events (received_at);

-- What users ask for help with.
create table basalt.support_tickets (
  id uuid primary key default gen_random_uuid(),
  user_id uuid not null references basalt.users on delete cascade,
  subject text not null,
  -- open: the user wrote last; answered: an administrator did.
  status text not null default 'open' check (status in ('open', 'answered', 'closed')),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create index support_tickets_newest on basalt.support_tickets (updated_at desc, id desc);
create index support_tickets_status on basalt.support_tickets (status, updated_at desc, id desc);
create index support_tickets_user on basalt.support_tickets (user_id, updated_at desc, id desc);

create table basalt.support_messages (
  id uuid primary key default gen_random_uuid(),
  ticket_id uuid not null references basalt.support_tickets on delete cascade,
  author text not null check (author in ('user', 'support')),
  body text not null,
  -- What a mail is known by when it is delivered again; null of messages that did not arrive by mail.
  mail_key bytea,
  -- Names, types and sizes of what was attached to the mail, in the order of their places in support_attachments.
  attachments jsonb not null default '[]',
  -- When an answer was handed to the mail backend.
  mailed_at timestamptz,
  -- Messages of one ticket are written one after the other; now() would be the time at which each began to wait.
  created_at timestamptz not null default clock_timestamp(),
  unique (ticket_id, mail_key)
);
create index support_messages_ticket on basalt.support_messages (ticket_id, created_at, id);

-- What was attached, as far as the ticket had room for it. Bytes of mail do not compress.
create table basalt.support_attachments (
  message_id uuid not null references basalt.support_messages on delete cascade,
  -- Place in the list of the message, from 0.
  place int not null,
  content bytea not null,
  primary key (message_id, place)
);
alter table basalt.support_attachments alter column content set storage external;

insert into basalt.schedules (name, job_type, cron_expr, next_run_at)
values ('support_retention_daily', 'support_retention', '0 4 * * *',
  (date_trunc('day', now() at time zone 'UTC') + interval '1 day 4 hours') at time zone 'UTC');

-- Mail that users and programs sent, one row per recipient, from before it was sent.
create table basalt.sent_mails (
  id uuid primary key default gen_random_uuid(),
  user_id uuid references basalt.users on delete set null,
  api_key_id uuid,
  sender text not null,
  recipient text not null,
  subject text not null,
  template_key text,
  -- pending: a process that ended in between never learned what became of it.
  status text not null default 'pending' check (status in ('pending', 'sent', 'failed')),
  error_message text,
  created_at timestamptz not null default now()
);
create index sent_mails_newest on basalt.sent_mails (created_at desc, id desc);
create index sent_mails_user on basalt.sent_mails (user_id, created_at desc, id desc);

insert into basalt.schedules (name, job_type, cron_expr, next_run_at)
values ('sent_mail_retention_daily', 'sent_mail_retention', '0 4 * * *',
  (date_trunc('day', now() at time zone 'UTC') + interval '1 day 4 hours') at time zone 'UTC');
