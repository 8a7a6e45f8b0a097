-- The log of changes: written in the transaction of the change, by the data API where a listener wants it and by the
-- triggers of `basalt events capture` (see features/events/outbox/README.md).
create table basalt.outbox (
  -- Handed out while the changed row is locked: of one record the smaller id was committed first.
  id bigint generated always as identity primary key,
  transaction_id xid8 not null default pg_current_xact_id(),
  happened_at timestamptz not null default now(),
  -- create, update or delete; without a check, which each statement would prepare anew.
  action text not null,
  -- The collection's name, as the API addresses it.
  table_name text not null,
  -- Primary key as a JSON array; null where there is none.
  record_key text,
  -- The key before an update that changed it.
  old_record_key text,
  record json not null,
  old_record json,
  -- Columns of both rows that policies may name and no receiver is sent; null where the records hold all columns.
  hidden json,
  old_hidden json,
  -- Who wrote, from a setting of the transaction: a default, so that whatever appends to the log has it. A JSON array of
  -- actor, user, API key, request, app and address; one column, which costs a write a third of four. Null: plain SQL.
  origin text default coalesce(
    nullif(current_setting('basalt.origin', true), ''),
    '["user","' || nullif(current_setting('basalt.user_id', true), '') || '"]'
  )
);
create index outbox_transaction_id on basalt.outbox (transaction_id);

-- The newest transaction of which events were pruned; who has not seen it by then has missed something.
create table basalt.outbox_pruned (
  transaction_id xid8 not null
);
insert into basalt.outbox_pruned values ('0');

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

-- From now on, whichever node will deliver.
insert into basalt.event_cursors (consumer) values ('webhooks');

create table basalt.webhooks (
  id uuid primary key,
  url text not null,
  -- Encrypted.
  secret text,
  -- The one before, which signs beside it until this time.
  previous_secret text,
  previous_secret_until timestamptz,
  events text[] not null,
  -- Empty: all.
  tables text[] not null,
  enabled bool not null,
  paused_at timestamptz,
  paused_reason text,
  -- Since when no attempt has succeeded.
  failing_since timestamptz,
  -- When a range of its deliveries was last queued again: nodes that deliver notice it by this.
  replayed_at timestamptz,
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
  -- Of basalt.outbox.
  log_id bigint,
  -- A row that shares a key with an earlier one of its webhook waits for it.
  record_key uuid,
  old_record_key uuid,
  -- The latest earlier row of the webhook that has the record_key, or the old_record_key; null once that one is removed.
  after_id bigint,
  after_old_id bigint,
  body text not null,
  -- Attempts that ended.
  attempts int not null default 0,
  due_at timestamptz not null default now(),
  leased_until timestamptz,
  -- Fencing token: counts the claims, and a completion under an earlier one is rejected.
  claim bigint not null default 0,
  created_at timestamptz not null default now()
);
create index webhook_queue_log_id on basalt.webhook_queue (log_id);
create index webhook_queue_record_key on basalt.webhook_queue (webhook_id, record_key, id);
create index webhook_queue_old_record_key on basalt.webhook_queue (webhook_id, old_record_key, id)
  where old_record_key is not null;
-- What may be claimed, in the order in which it is: when it became due, then by age.
create index webhook_queue_ready on basalt.webhook_queue (webhook_id, due_at, id)
  where after_id is null and after_old_id is null;
create index webhook_queue_after_id on basalt.webhook_queue (after_id) where after_id is not null;
create index webhook_queue_after_old_id on basalt.webhook_queue (after_old_id) where after_old_id is not null;
create index webhook_queue_lease on basalt.webhook_queue (webhook_id, leased_until) where leased_until is not null;
-- Claims and completions leave dead entries at the end of the index that the next claim begins at: they are removed
-- after so many, not after a share of the backlog.
alter table basalt.webhook_queue set (
  autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000,
  autovacuum_analyze_scale_factor = 0.05
);

-- Whatever removes rows of the queue, what waited for them may be claimed. Each statement has a snapshot of its own, so
-- that it sees rows whose insertion the removal has waited for.
create function basalt.release_deliveries() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  -- An array is looked up by index, whatever the planner thinks of the number of rows.
  update basalt.webhook_queue set after_id = null where after_id = any (array(select id from gone));
  update basalt.webhook_queue set after_old_id = null where after_old_id = any (array(select id from gone));
  return null;
end
$$;
revoke all on function basalt.release_deliveries() from public;
create trigger webhook_queue_release after delete on basalt.webhook_queue
  referencing old table as gone for each statement execute function basalt.release_deliveries();

-- One row per attempt.
create table basalt.webhook_deliveries (
  id uuid primary key default gen_random_uuid(),
  webhook_id uuid not null references basalt.webhooks on delete cascade,
  event_id uuid not null,
  event_action text not null,
  event_table text not null,
  -- As in the queue: the place in the log, and the records that it is about, for a replay in their order.
  log_id bigint,
  record_key uuid,
  old_record_key uuid,
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
create index webhook_deliveries_log_id on basalt.webhook_deliveries (log_id);
create index webhook_deliveries_delivered_at on basalt.webhook_deliveries (delivered_at);

-- Streams of changes: what they listen to, and which are open (see features/events/realtime/README.md).

-- Tables that streams listen to. A row outlives the last stream, so that one that comes back finds what it missed.
create table basalt.realtime_tables (
  table_name text primary key,
  wanted_until timestamptz not null,
  -- Transactions from this one on are in the log; null until every node has heard of the table.
  logged_since xid8,
  -- How its records have looked since then.
  shape text
);

-- Vector columns that follow the text of their rows (see features/events/embeddings/README.md).
create table basalt.embeddings (
  name text primary key,
  table_name text not null,
  -- Of the text.
  columns text[] not null,
  -- What vectors are made of and by; and those of rows that existed when they were last queued, null before.
  recipe text not null,
  filled_recipe text,
  written bigint not null default 0,
  last_written_at timestamptz,
  last_error text,
  backfill_job uuid,
  backfill_rows bigint,
  backfill_started_at timestamptz,
  backfill_finished_at timestamptz
);

-- Records whose vector has to be made.
create table basalt.embedding_queue (
  id bigint generated always as identity,
  embedding text not null references basalt.embeddings on delete cascade,
  -- Of the key, which can be longer than an index takes.
  record_hash uuid not null,
  -- Primary key as a JSON array.
  record_key text not null,
  -- Counts the changes: a completion of an earlier one leaves the row.
  version bigint not null default 1,
  leased_until timestamptz,
  -- Why the provider refuses the text.
  error text,
  primary key (embedding, record_hash)
);
create index embedding_queue_pending on basalt.embedding_queue (embedding, id) where error is null;
create index embedding_queue_failed on basalt.embedding_queue (embedding, id) where error is not null;

-- What is listened to. Nodes keep it in memory, and the triggers of `basalt events capture` read it. Actions of these tables; of
-- all where there are none. A row that has just run out counts a little longer, for nodes that are about to renew it.
create view basalt.event_interests (tables, actions) as
select tables, events from basalt.webhooks where enabled
union all
select array[table_name], array['create', 'update', 'delete']
from basalt.realtime_tables
where wanted_until > now() - interval '10 seconds'
union all
select array[table_name], array['create', 'update'] from basalt.embeddings;

-- Nodes with open streams. One that is not heard of for ten seconds is gone.
create table basalt.realtime_nodes (
  id uuid primary key,
  seen_at timestamptz not null default now(),
  dropped_messages bigint not null default 0,
  heartbeat_failures bigint not null default 0
);

create table basalt.realtime_connections (
  id uuid primary key,
  node uuid not null references basalt.realtime_nodes on delete cascade,
  transport text not null check (transport in ('sse', 'ws')),
  -- Of a program that acts for no user `app ` and the id of its app, by which its streams are counted. Null without a token,
  -- and while auth is off.
  user_id text,
  address text not null,
  tables text[] not null default '{}',
  channels text[] not null default '{}',
  connected_at timestamptz not null default now(),
  -- An administrator wants it closed; its node looks once a second.
  is_unwanted bool not null default false
);
create index realtime_connections_user_id on basalt.realtime_connections (user_id);
create index realtime_connections_address on basalt.realtime_connections (address) where user_id is null;
create index realtime_connections_node on basalt.realtime_connections (node);

-- Opens a stream unless its user, or without a token its address, has as many as may be, over all nodes. One at a time for
-- each.
create function basalt.open_realtime_connection(
  id uuid, node uuid, transport text, user_id text, address text, user_limit int, address_limit int
) returns bool
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if user_id is not null then
    perform pg_advisory_xact_lock(hashtextextended('basalt realtime ' || user_id, 0));
    if user_limit <= (
      select count(*)
      from basalt.realtime_connections c
      join basalt.realtime_nodes n on n.id = c.node and n.seen_at > now() - interval '10 seconds'
      where c.user_id = open_realtime_connection.user_id
    ) then
      return false;
    end if;
  elsif address_limit is not null then
    perform pg_advisory_xact_lock(hashtextextended('basalt realtime from ' || address, 0));
    if address_limit <= (
      select count(*)
      from basalt.realtime_connections c
      join basalt.realtime_nodes n on n.id = c.node and n.seen_at > now() - interval '10 seconds'
      where c.user_id is null and c.address = open_realtime_connection.address
    ) then
      return false;
    end if;
  end if;
  insert into basalt.realtime_connections (id, node, transport, user_id, address)
  values (id, node, transport, user_id, address);
  return true;
end
$$;
revoke all on function basalt.open_realtime_connection(uuid, uuid, text, text, text, int, int) from public;

-- Which streams were sent which events: a row for what a node has sent in a second, as one per event would cost as much as
-- the log itself.
create table basalt.realtime_sent (
  node uuid not null,
  -- Ids of the log, from the first to the last that it is about.
  events int8range not null,
  -- By id: how many streams were sent the event, from how many that listen to the table it was withheld, and the places
  -- in streams of the first that were sent it.
  entries jsonb not null,
  -- Each the id, the transport, what the caller is, and the user.
  streams jsonb not null,
  -- Events that are not among the entries, as there were too many or an earlier row could not be written.
  dropped int not null,
  recorded_at timestamptz not null default now()
);
create index realtime_sent_events on basalt.realtime_sent using gist (events);
create index realtime_sent_recorded_at on basalt.realtime_sent (recorded_at);

-- Channels of WebSockets: what is said on them, who is present, and who may take part.

-- Read by every node within moments, and pruned after a minute. Not logged: a crash of the database may take what was
-- just said.
create unlogged table basalt.realtime_messages (
  id bigint generated always as identity primary key,
  transaction_id xid8 not null default pg_current_xact_id(),
  created_at timestamptz not null default now(),
  channel text not null,
  kind text not null check (kind in ('broadcast', 'join', 'update', 'leave')),
  -- Where the sender is connected.
  node uuid not null,
  connection_id uuid not null,
  -- Of a broadcast.
  event text,
  -- What the sender wrote: the payload of a broadcast, or a presence.
  payload json
);
create index realtime_messages_transaction_id on basalt.realtime_messages (transaction_id);

-- Who shows presence on a channel. Nodes know their own and put back what a crash of the database takes. A node that
-- goes does not take them with it: every leave is delivered, by the transaction that removes the row.
create unlogged table basalt.realtime_presence (
  channel text not null,
  connection_id uuid not null,
  node uuid not null,
  user_id text,
  presence json not null,
  -- The connection is closed; it may still be shown for a while.
  left_at timestamptz,
  primary key (channel, connection_id)
);
create index realtime_presence_connection_id on basalt.realtime_presence (connection_id);
create index realtime_presence_node on basalt.realtime_presence (node);
-- Whose time on a channel is up.
create index realtime_presence_left_at on basalt.realtime_presence (left_at) where left_at is not null;

-- Holds no rows, but policies for basalt_authenticated: once row level security is enabled, those for select say who
-- may subscribe to a channel, those for insert who may broadcast and show presence on it.
create table basalt.realtime_channels (
  channel text primary key
);

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
  -- GeoJSON (RFC 7946) of an expression, under a name, with the functions of a schema.
  geojson constant text := 'replace(replace(replace(%3$I.st_asgeojson(%1$s, 15, 0), ''NaN'', ''null''),'
    || ' ''-Infinity'', ''null''), ''Infinity'', ''null'')::json as %2$I';
  -- The record r, with the values that the data API would show.
  list constant text := (
    select string_agg(
      case b.typname
        when 'hstore' then format('t.%1$I::text as %1$I', a.attname)
        when 'vector' then format('t.%1$I::text::json as %1$I', a.attname)
        when 'halfvec' then format('t.%1$I::text::json as %1$I', a.attname)
        when 'geography' then format(geojson, format('t.%I', a.attname), a.attname, n.nspname)
        when 'geometry' then format(geojson, format(
          'case %2$I.st_geometrytype(t.%1$I) when ''ST_PolyhedralSurface'' then %2$I.st_forcecollection(t.%1$I)'
            || ' else %2$I.st_curvetoline(t.%1$I) end', a.attname, n.nspname), a.attname, n.nspname)
        else format('t.%1$I', a.attname)
      end,
      ', ' order by a.attnum)
    from pg_attribute a
    join pg_type t on t.oid = a.atttypid
    join pg_type b on b.oid = coalesce(nullif(t.typbasetype, 0), t.oid)
    join pg_namespace n on n.oid = b.typnamespace
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
  if pg_trigger_depth() = 1 and current_setting('basalt.captured_write', true) in (
    tg_op || ' ' || tg_table_schema || '.' || tg_table_name,
    -- It fires the triggers of both.
    case when tg_op in ('INSERT', 'UPDATE') then 'UPSERT ' || tg_table_schema || '.' || tg_table_name end
  ) then
    return null;
  end if;
  if not exists (
    select from basalt.event_interests i
    where change = any (i.actions) and (i.tables = '{}' or collection = any (i.tables))
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
