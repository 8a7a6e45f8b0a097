-- Messages of other services that functions have handled. The function and this row are one transaction.
create table basalt.inbound_messages (
  name text collate "C" not null,
  id text collate "C" not null,
  received_at timestamptz not null default now(),
  primary key (name, id)
);
create index inbound_messages_received_at on basalt.inbound_messages (received_at);

-- Records a message, unless it is stale or a duplicate, with a seal of the server as for jobs. It waits while another transaction
-- has the message.
create function basalt.accept_inbound_sealed(message text, seal text) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  given constant jsonb := message::jsonb;
begin
  if seal is distinct from (
    select encode(sha256(s.key || sha256(convert_to('inbound ' || message, 'UTF8'))), 'hex') from basalt.job_seal s
  ) then
    raise insufficient_privilege using message = 'the message has no seal of the server';
  end if;
  if abs(extract(epoch from clock_timestamp()) - (given ->> 'time')::float8) <= (given ->> 'tolerance')::int then
    insert into basalt.inbound_messages (name, id) values (given ->> 'name', given ->> 'id') on conflict do nothing;
    return case when found then 'accepted' else 'duplicate' end;
  end if;
  return 'stale';
end $$;
revoke all on function basalt.accept_inbound_sealed(text, text) from public;

insert into basalt.schedules (name, job_type, cron_expr, next_run_at)
values ('inbound_message_retention_daily', 'inbound_message_retention', '0 3 * * *',
  (date_trunc('day', now() at time zone 'UTC') + interval '1 day 3 hours') at time zone 'UTC');
