-- Messages that functions send in the transaction of their caller.

-- Adds a broadcast of a function, with a seal of the server as for its jobs. Each broadcast removes some that have expired,
-- because nodes prune only while they have members.
create function basalt.broadcast_sealed(broadcast text, seal text) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  given constant json := broadcast::json;
begin
  if seal is distinct from (
    select encode(sha256(s.key || sha256(convert_to('broadcast ' || broadcast, 'UTF8'))), 'hex') from basalt.job_seal s
  ) then
    raise insufficient_privilege using message = 'the broadcast has no seal of the server';
  end if;
  delete from basalt.realtime_messages where id in (
    select id from basalt.realtime_messages order by id limit 20 for update skip locked
  ) and created_at < now() - interval '1 minute';
  -- The nil UUID is no node, so each node delivers it to its members.
  insert into basalt.realtime_messages (kind, node, channel, connection_id, event, payload)
  values ('broadcast', '00000000-0000-0000-0000-000000000000', given ->> 'channel',
    '00000000-0000-0000-0000-000000000000', given ->> 'event', given -> 'payload');
end $$;
revoke all on function basalt.broadcast_sealed(text, text) from public;
