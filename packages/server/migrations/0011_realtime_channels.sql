-- Channels of WebSockets: what is said on them, who is there, and who may (see features/realtime/README.md).

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
-- goes does not take them with it: every leave is told, by whoever removes the row.
create unlogged table basalt.realtime_presence (
  channel text not null,
  connection_id uuid not null,
  node uuid not null,
  user_id text,
  presence json not null,
  -- The connection has gone; it may still be shown for a while.
  left_at timestamptz,
  primary key (channel, connection_id)
);
create index realtime_presence_connection_id on basalt.realtime_presence (connection_id);
create index realtime_presence_node on basalt.realtime_presence (node);

-- Holds no rows, but policies for basalt_authenticated: once row level security is enabled, those for select say who
-- may subscribe to a channel, those for insert who may broadcast and show presence on it.
create table basalt.realtime_channels (
  channel text primary key
);
