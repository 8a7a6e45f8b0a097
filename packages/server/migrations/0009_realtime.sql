-- Streams of changes: what they listen to, and who has one open (see features/realtime/README.md).

-- Tables that streams listen to. A row outlives the last stream, so that one that comes back finds what it missed.
create table basalt.realtime_tables (
  table_name text primary key,
  wanted_until timestamptz not null,
  -- Transactions from this one on are in the log; null until every node has heard of the table.
  logged_since xid8,
  -- How its records have looked since then.
  shape text
);

-- A row that has just run out counts a little longer, for those who are about to renew it.
create or replace view basalt.event_interests as
select tables, events as actions from basalt.webhooks where enabled
union all
select array[table_name], array['create', 'update', 'delete']
from basalt.realtime_tables
where wanted_until > now() - interval '10 seconds';

-- The newest transaction of which events were pruned; who has not seen it by then has missed something.
create table basalt.outbox_pruned (
  transaction_id xid8 not null
);
insert into basalt.outbox_pruned values ('0');

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
  -- Null while auth is off.
  user_id text,
  address text not null,
  tables text[] not null default '{}',
  channels text[] not null default '{}',
  connected_at timestamptz not null default now(),
  -- An administrator wants it closed; its node looks once a second.
  is_unwanted bool not null default false
);
create index realtime_connections_user_id on basalt.realtime_connections (user_id);
create index realtime_connections_node on basalt.realtime_connections (node);

-- Opens a stream unless its user has as many as may be, over all nodes. One at a time per user.
create function basalt.open_realtime_connection(
  id uuid, node uuid, transport text, user_id text, address text, user_limit int
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
  end if;
  insert into basalt.realtime_connections (id, node, transport, user_id, address)
  values (id, node, transport, user_id, address);
  return true;
end
$$;
revoke all on function basalt.open_realtime_connection(uuid, uuid, text, text, text, int) from public;
