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

-- Logs what plain SQL changes; the trigger's argument is the name of the collection. Runs as its owner, who may write
-- the log, with the settings that JSON is made with everywhere.
create function basalt.capture_changes() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set timezone = 'UTC' set datestyle = 'ISO, MDY' set intervalstyle = 'iso_8601' set bytea_output = 'hex'
set extra_float_digits = '1'
as $$
declare
  collection constant text := tg_argv[0];
  change constant text := case tg_op when 'INSERT' then 'create' else lower(tg_op) end;
  -- The record r: an hstore goes as text, as in the data API.
  list constant text := (
    select string_agg(
      format(case when t.typname = 'hstore' then 't.%1$I::text as %1$I' else 't.%1$I' end, a.attname),
      ', ' order by a.attnum)
    from pg_attribute a join pg_type t on t.oid = a.atttypid
    where a.attrelid = tg_relid and a.attnum > 0 and not a.attisdropped
  );
  -- The rows of a transition table, in their order.
  before_name constant text := '(select (select row_to_json(s.*) from (select ' || list
    || ') s) as r, row_number() over () as place from ';
  after_name constant text := ' t)';
  names constant text[] := array(
    select quote_literal(a.attname)
    from pg_index i join pg_attribute a on a.attrelid = i.indrelid and a.attnum = any (i.indkey)
    where i.indrelid = tg_relid and i.indisprimary
    order by array_position(i.indkey::int2[], a.attnum)
  );
  new_key constant text := case when names = '{}' then 'null'
    else 'json_build_array(n.r->' || array_to_string(names, ', n.r->') || ')::text' end;
  old_key constant text := case when names = '{}' then 'null'
    else 'json_build_array(o.r->' || array_to_string(names, ', o.r->') || ')::text' end;
begin
  -- Written by the data API, which has logged it. What its triggers and foreign keys do runs deeper.
  if pg_trigger_depth() = 1 and current_setting('basalt.captured_write', true)
    = tg_op || ' ' || tg_table_schema || '.' || tg_table_name
  then
    return null;
  end if;
  if not exists (
    select from basalt.webhooks w
    where w.enabled and change = any (w.events) and (w.tables = '{}' or collection = any (w.tables))
  ) then
    return null;
  end if;
  if tg_op = 'UPDATE' then
    -- Both tables were filled row by row: their places match.
    execute 'insert into basalt.outbox (action, table_name, record_key, old_record_key, record, old_record)'
      || ' select $1, $2, ' || new_key || ', nullif(' || old_key || ', ' || new_key || '), n.r, o.r'
      || ' from ' || before_name || 'new_rows' || after_name || ' n'
      || ' join ' || before_name || 'old_rows' || after_name || ' o using (place)'
      || ' order by place'
    using change, collection;
  else
    execute 'insert into basalt.outbox (action, table_name, record_key, record)'
      || ' select $1, $2, ' || new_key || ', n.r'
      || ' from ' || before_name || case tg_op when 'INSERT' then 'new_rows' else 'old_rows' end || after_name || ' n'
      || ' order by place'
    using change, collection;
  end if;
  return null;
end
$$;
revoke all on function basalt.capture_changes() from public;

-- From now on, whichever node will deliver.
insert into basalt.event_cursors (consumer) values ('webhooks');
