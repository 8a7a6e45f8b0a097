-- Jobs, in a queue of the same form as that of webhook deliveries.
create table basalt.jobs (
  id uuid primary key default gen_random_uuid(),
  type text not null,
  payload jsonb not null default '{}',
  state text not null default 'queued' check (state in ('queued', 'running', 'completed', 'failed', 'canceled')),
  -- Attempts that were begun and count.
  attempts int not null default 0,
  max_attempts int not null check (max_attempts > 0),
  last_error text,
  schedule_id uuid,
  run_at timestamptz not null default now(),
  -- Of a running job: when it is taken from its worker unless the lease is renewed.
  leased_until timestamptz,
  -- Fencing token: counts the claims, and a completion under an earlier one is rejected.
  claim bigint not null default 0,
  created_at timestamptz not null default now(),
  started_at timestamptz,
  finished_at timestamptz,
  updated_at timestamptz not null default now(),
  check ((state = 'running') = (leased_until is not null))
);
-- What may be claimed, in the order in which it is.
create index jobs_queued on basalt.jobs (type, run_at, id) where state = 'queued';
create index jobs_running on basalt.jobs (leased_until) where state = 'running';
create index jobs_finished on basalt.jobs (finished_at) where finished_at is not null;
create index jobs_newest on basalt.jobs (created_at desc, id desc);
-- Claims leave dead entries at the beginning of jobs_queued, where the next claim begins: they are removed after so
-- many, not after a share of the finished jobs.
alter table basalt.jobs set (
  autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000,
  autovacuum_analyze_scale_factor = 0.05
);

-- Jobs of the queue before this one, where a database has it. What was running is queued again and has that attempt
-- back: its worker cannot record it any more.
do $$
begin
  if to_regclass('basalt_jobs.job') is not null then
    execute $carry$
      insert into basalt.jobs (id, type, payload, state, attempts, max_attempts, last_error, schedule_id, run_at,
        created_at, started_at, finished_at, updated_at)
      select id, name, coalesce(data, '{}'),
        case state::text when 'completed' then 'completed' when 'failed' then 'failed' when 'cancelled' then 'canceled'
          else 'queued' end,
        greatest(0, case when started_on is null then 0 else retry_count + 1 end - coalesce(source_retry_count, 0)
          - case state::text when 'active' then 1 else 0 end),
        greatest(1, retry_limit + 1 - coalesce(source_retry_count, 0)),
        coalesce(output->>'message', output->'value'->>'message'), group_id::uuid,
        case state::text when 'active' then now() else start_after end,
        created_on, started_on, completed_on, greatest(created_on, started_on, completed_on)
      from basalt_jobs.job
      where name not like '\_\_pgboss\_\_%'
    $carry$;
    drop schema basalt_jobs cascade;
  end if;
end $$;

-- Housekeeping that each node did by a timer of its own.
insert into basalt.schedules (name, job_type, cron_expr, next_run_at)
select name, job_type, cron_expr, date_trunc('hour', now()) + interval '1 hour'
from (values
  ('attempt_cleanup', 'attempt_cleanup', '*/10 * * * *'),
  ('event_log_prune', 'event_log_prune', '*/10 * * * *'),
  ('realtime_cleanup', 'realtime_cleanup', '*/10 * * * *'),
  ('unfinished_auth_cleanup_hourly', 'unfinished_auth_cleanup', '30 * * * *')
) as built_in (name, job_type, cron_expr)
on conflict (name) do nothing;
