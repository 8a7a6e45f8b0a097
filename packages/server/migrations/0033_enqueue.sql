-- Jobs that triggers and functions of the operator add.

-- Key of a waiting job. The first claim removes it, so that changes made while the job runs add another one.
alter table basalt.jobs add column key text;
create unique index jobs_key on basalt.jobs (type, key) where key is not null and state = 'queued' and attempts = 0;

-- Types that SQL may add. Every node adds those that its version knows.
create table basalt.sql_job_types (
  type text primary key,
  max_attempts int not null check (max_attempts > 0)
);

-- Adds a job, in the caller's transaction. While a job of the same type with the same key waits, it gets the new payload and
-- time instead. The operator grants it to roles.
create function basalt.enqueue(
  type text, payload jsonb default '{}', key text default null, run_at timestamptz default null
) returns uuid
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  attempts int := (select t.max_attempts from basalt.sql_job_types t where t.type = enqueue.type);
  due timestamptz := coalesce(enqueue.run_at, now());
  job uuid;
begin
  if attempts is null then
    raise exception 'basalt.enqueue: unknown job type "%"', left(coalesce(enqueue.type, ''), 100) using hint =
      'Types that SQL may add: ' || coalesce((select string_agg(t.type, ', ' order by t.type) from basalt.sql_job_types t), 'none');
  end if;
  if coalesce(jsonb_typeof(enqueue.payload), 'null') <> 'object' then
    raise exception 'basalt.enqueue: payload must be an object';
  end if;
  if octet_length(enqueue.payload::text) > 65536 then
    raise exception 'basalt.enqueue: payload must have at most 65536 bytes';
  end if;
  if enqueue.key = '' or length(enqueue.key) > 200 then
    raise exception 'basalt.enqueue: key must have 1 to 200 characters';
  end if;
  if not isfinite(due) then
    raise exception 'basalt.enqueue: run_at must be finite';
  end if;
  insert into basalt.jobs (type, payload, max_attempts, key, run_at)
  values (enqueue.type, enqueue.payload, attempts, enqueue.key, due)
  on conflict (type, key) where key is not null and state = 'queued' and attempts = 0
  do update set payload = excluded.payload, run_at = excluded.run_at, updated_at = now()
  returning id into job;
  return job;
end $$;
revoke all on function basalt.enqueue(text, jsonb, text, timestamptz) from public;
