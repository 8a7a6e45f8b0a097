-- What nodes ask on a clock must not read a table from one end to the other.

-- Whose time on a channel is up.
create index realtime_presence_left_at on basalt.realtime_presence (left_at) where left_at is not null;

-- Anonymous accounts to be removed.
create index users_anonymous on basalt.users (created_at) where is_anonymous;
