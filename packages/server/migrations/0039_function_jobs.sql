-- Jobs that functions add in the transaction of their caller, and the user by whose request.

-- Id of the user in whose transaction the job was added; information for the job, which runs with rights of its own.
alter table basalt.jobs add column queued_by text;

-- Key of the server's seals. Only the owner reads it.
create table basalt.job_seal (
  is_only bool primary key default true check (is_only),
  key bytea not null default uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())
);
insert into basalt.job_seal default values;

create or replace function basalt.enqueue(
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
  insert into basalt.jobs (type, payload, max_attempts, key, run_at, queued_by)
  values (enqueue.type, enqueue.payload, attempts, enqueue.key, due, nullif(current_setting('basalt.user_id', true), ''))
  on conflict (type, key) where key is not null and state = 'queued' and attempts = 0
  do update set payload = excluded.payload, run_at = excluded.run_at, queued_by = excluded.queued_by, updated_at = now()
  returning id into job;
  return job;
end $$;

-- Adds the job that a function of the operator has queued, in its transaction. The roles of callers may not add jobs, and text
-- that reaches `execute` can become the gateway. So the server seals the job with a key that neither of them can read. A job of
-- the server itself, such as mail, has its number of attempts.
create function basalt.enqueue_sealed(job text, seal text) returns uuid
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  given constant jsonb := job::jsonb;
  most int := coalesce((given ->> 'attempts')::int,
    (select t.max_attempts from basalt.sql_job_types t where t.type = given ->> 'type'));
  added uuid;
begin
  if seal is distinct from (
    select encode(sha256(s.key || sha256(convert_to(job, 'UTF8'))), 'hex') from basalt.job_seal s
  ) then
    raise insufficient_privilege using message = 'the job has no seal of the server';
  end if;
  -- No node has this type of job any more.
  if most is null then
    return null;
  end if;
  insert into basalt.jobs as j (type, payload, max_attempts, key, run_at, queued_by)
  values (given ->> 'type', given -> 'payload', most, given ->> 'key',
    coalesce(to_timestamp((given ->> 'at')::float8 / 1000), now()), given ->> 'queuedBy')
  on conflict (type, key) where key is not null and state = 'queued' and attempts = 0
  do update set payload = excluded.payload, run_at = excluded.run_at, queued_by = excluded.queued_by, updated_at = now()
  returning j.id into added;
  return added;
end $$;
revoke all on function basalt.enqueue_sealed(text, text) from public;
