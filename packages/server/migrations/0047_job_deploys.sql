-- Jobs of functions keep the deploy with which they were queued.

-- Hash of the deploy whose functions run the job. Null: those that are live, and for jobs of the server.
alter table basalt.jobs add column deploy text;
select basalt.add_index('jobs', 'jobs_deploy', '(deploy, type, run_at, id) where state = ''queued''');

-- Hash of the deploy that defines the type. Null: a type of the server, or of a folder.
alter table basalt.sql_job_types add column deploy text;

create or replace function basalt.enqueue(
  type text, payload jsonb default '{}', key text default null, run_at timestamptz default null
) returns uuid
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  known basalt.sql_job_types;
  due timestamptz := coalesce(enqueue.run_at, now());
  job uuid;
begin
  select * into known from basalt.sql_job_types t where t.type = enqueue.type;
  if known.type is null then
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
  insert into basalt.jobs (type, payload, max_attempts, key, run_at, queued_by, deploy)
  values (enqueue.type, enqueue.payload, known.max_attempts, enqueue.key, due,
    nullif(current_setting('basalt.user_id', true), ''), known.deploy)
  on conflict (type, key) where key is not null and state = 'queued' and attempts = 0
  do update set payload = excluded.payload, run_at = excluded.run_at, queued_by = excluded.queued_by,
    deploy = excluded.deploy, updated_at = now()
  returning id into job;
  return job;
end $$;

-- A job of the calling functions names their deploy and its number of attempts. They may have been replaced meanwhile.
create or replace function basalt.enqueue_sealed(job text, seal text) returns uuid
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  given constant jsonb := job::jsonb;
  known basalt.sql_job_types;
  most int;
  added uuid;
begin
  if seal is distinct from (
    select encode(sha256(s.key || sha256(convert_to(job, 'UTF8'))), 'hex') from basalt.job_seal s
  ) then
    raise insufficient_privilege using message = 'the job has no seal of the server';
  end if;
  select * into known from basalt.sql_job_types t where t.type = given ->> 'type';
  most := coalesce((given ->> 'attempts')::int, known.max_attempts);
  -- No node has this type of job any more.
  if most is null then
    return null;
  end if;
  insert into basalt.jobs as j (type, payload, max_attempts, key, run_at, queued_by, deploy)
  values (given ->> 'type', given -> 'payload', most, given ->> 'key',
    coalesce(to_timestamp((given ->> 'at')::float8 / 1000), now()), given ->> 'queuedBy',
    coalesce(given ->> 'deploy', known.deploy))
  on conflict (type, key) where key is not null and state = 'queued' and attempts = 0
  do update set payload = excluded.payload, run_at = excluded.run_at, queued_by = excluded.queued_by,
    deploy = excluded.deploy, updated_at = now()
  returning j.id into added;
  return added;
end $$;
