-- A truncation is about every record of its table: its delivery waits for those of all earlier events of the table, and later
-- ones wait for it (see features/events/webhooks/README.md).

create index webhook_queue_truncations on basalt.webhook_queue (webhook_id, event_table, id)
  where event_action = 'truncate';

-- Whatever removes rows of the queue, what waited for them may be claimed. Each statement has a snapshot of its own, so
-- that it sees rows whose insertion the removal has waited for.
create or replace function basalt.release_deliveries() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  truncation record;
  earlier bigint;
begin
  -- An array is looked up by index, whatever the planner thinks of the number of rows.
  for truncation in
    select id, webhook_id, event_table from basalt.webhook_queue
    where after_id = any (array(select id from gone)) and event_action = 'truncate'
  loop
    loop
      earlier := (
        select q.id from basalt.webhook_queue q
        where q.webhook_id = truncation.webhook_id and q.event_table = truncation.event_table and q.id < truncation.id
        order by q.id desc limit 1
      );
      exit when earlier is null;
      -- One that another transaction is removing has looked for what waits for it already.
      perform from basalt.webhook_queue q where q.id = earlier for key share;
      exit when found;
    end loop;
    update basalt.webhook_queue q set after_id = earlier where q.id = truncation.id;
  end loop;
  update basalt.webhook_queue set after_id = null where after_id = any (array(select id from gone));
  update basalt.webhook_queue set after_old_id = null where after_old_id = any (array(select id from gone));
  return null;
end
$$;
