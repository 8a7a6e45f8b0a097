-- The log of changes: written in the transaction of the change, by the data API where somebody listens and by the
-- triggers of `basalt events capture` (see features/events/README.md).
create table basalt.outbox (
  -- Handed out while the changed row is locked: of one record the smaller id was committed first.
  id bigint generated always as identity primary key,
  transaction_id xid8 not null default pg_current_xact_id(),
  event_id uuid not null default gen_random_uuid(),
  happened_at timestamptz not null default now(),
  action text not null check (action in ('create', 'update', 'delete')),
  -- The collection's name, as the API addresses it.
  table_name text not null,
  -- Primary key as a JSON array; null where there is none.
  record_key text,
  -- The key before an update that changed it.
  old_record_key text,
  record json not null,
  old_record json
);
create index outbox_transaction_id on basalt.outbox (transaction_id);
create index outbox_happened_at on basalt.outbox (happened_at);

-- How far a consumer has read the log, and which node reads for it.
create table basalt.event_cursors (
  consumer text primary key,
  -- Every event of a transaction that this snapshot sees has been taken.
  passed pg_snapshot not null default pg_current_snapshot(),
  -- The snapshot that is being worked off, in order of ids, and how far.
  target pg_snapshot,
  target_id bigint not null default 0,
  -- Largest id taken so far; what finds the place again after a move to another cluster.
  last_id bigint not null default 0,
  leader uuid,
  leased_until timestamptz not null default now()
);

create table basalt.webhooks (
  id uuid primary key,
  url text not null,
  -- Encrypted.
  secret text,
  events text[] not null,
  -- Empty: all.
  tables text[] not null,
  enabled bool not null,
  paused_at timestamptz,
  paused_reason text,
  -- Since when no attempt has succeeded.
  failing_since timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);

-- Deliveries to come: one row per event and webhook, gone when it has succeeded or been given up.
create table basalt.webhook_queue (
  id bigint generated always as identity primary key,
  webhook_id uuid not null references basalt.webhooks on delete cascade,
  event_id uuid not null,
  event_action text not null,
  event_table text not null,
  -- Whoever shares a key with an earlier row of its webhook waits for it.
  record_key uuid,
  old_record_key uuid,
  body text not null,
  -- Attempts that ended.
  attempts int not null default 0,
  due_at timestamptz not null default now(),
  leased_until timestamptz,
  -- Counts the claims: the word of an earlier claim is refused.
  claim bigint not null default 0,
  created_at timestamptz not null default now(),
  unique (webhook_id, event_id)
);
create index webhook_queue_webhook_id on basalt.webhook_queue (webhook_id, id);
create index webhook_queue_record_key on basalt.webhook_queue (webhook_id, record_key, id);
create index webhook_queue_old_record_key on basalt.webhook_queue (webhook_id, old_record_key, id)
  where old_record_key is not null;
create index webhook_queue_leased on basalt.webhook_queue (webhook_id) where leased_until is not null;

-- One row per attempt.
create table basalt.webhook_deliveries (
  id uuid primary key default gen_random_uuid(),
  webhook_id uuid not null references basalt.webhooks on delete cascade,
  event_id uuid not null,
  event_action text not null,
  event_table text not null,
  success bool not null,
  status_code int,
  attempt int not null,
  duration_ms int not null,
  error text,
  request_body text not null,
  response_body text,
  delivered_at timestamptz not null default now()
);
create index webhook_deliveries_webhook_id on basalt.webhook_deliveries (webhook_id, delivered_at desc, id);
create index webhook_deliveries_delivered_at on basalt.webhook_deliveries (delivered_at);
