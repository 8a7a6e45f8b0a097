-- What a delivery waits for is written down when it enters the queue, so that what may be claimed is found by index,
-- however much waits (see features/webhooks/README.md).
alter table basalt.webhook_queue
  -- The latest earlier row of the webhook that has the record_key, or the old_record_key; null once that one is gone.
  add column after_id bigint,
  add column after_old_id bigint;

with touched as (
  select id, webhook_id, record_key as key from basalt.webhook_queue where record_key is not null
  union all
  select id, webhook_id, old_record_key from basalt.webhook_queue where old_record_key is not null
),
linked as (
  select id, key, lag(id) over (partition by webhook_id, key order by id) as before_id from touched
)
update basalt.webhook_queue q
set after_id = (select l.before_id from linked l where l.id = q.id and l.key = q.record_key),
  after_old_id = (select l.before_id from linked l where l.id = q.id and l.key = q.old_record_key);

-- What may be claimed, in the order in which it is: when it became due, then by age.
create index webhook_queue_ready on basalt.webhook_queue (webhook_id, due_at, id)
  where after_id is null and after_old_id is null;
create index webhook_queue_after_id on basalt.webhook_queue (after_id) where after_id is not null;
create index webhook_queue_after_old_id on basalt.webhook_queue (after_old_id) where after_old_id is not null;
create index webhook_queue_lease on basalt.webhook_queue (webhook_id, leased_until) where leased_until is not null;
drop index basalt.webhook_queue_webhook_id, basalt.webhook_queue_leased;

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

-- Housekeeping that had no schedule.
insert into basalt.schedules (name, job_type, cron_expr, next_run_at)
values
  ('session_cleanup_hourly', 'stale_session_cleanup', '0 * * * *',
    date_trunc('hour', now()) + interval '1 hour'),
  ('webhook_delivery_prune_daily', 'webhook_delivery_prune', '0 3 * * *',
    (date_trunc('day', now() at time zone 'UTC') + interval '1 day 3 hours') at time zone 'UTC')
on conflict (name) do nothing;
