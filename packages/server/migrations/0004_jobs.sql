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
  -- What added it: events of the log that have the same one led to the job.
  transaction_id xid8 not null default pg_current_xact_id(),
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

-- Jobs by the clock.
create table basalt.schedules (
  id uuid primary key default gen_random_uuid(),
  name text not null unique,
  job_type text not null,
  payload jsonb not null default '{}',
  -- Five fields.
  cron_expr text not null,
  -- IANA.
  timezone text not null default 'UTC',
  enabled bool not null default true,
  max_attempts int not null default 3 check (max_attempts between 1 and 100),
  -- Null while disabled. Moving it on and adding the job are one transaction.
  next_run_at timestamptz,
  last_run_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  check (enabled = (next_run_at is not null))
);
create index schedules_next_run_at on basalt.schedules (next_run_at) where next_run_at is not null;

-- Housekeeping. A schedule that is removed is not created again.
insert into basalt.schedules (name, job_type, cron_expr, enabled, next_run_at)
select name, job_type, cron_expr, enabled, case when enabled then
  case when hour is null then date_trunc('hour', now()) + interval '1 hour'
    else (date_trunc('day', now() at time zone 'UTC') + interval '1 day' + make_interval(hours => hour)) at time zone 'UTC'
  end end
from (values
  ('audit_retention_daily', 'audit_log_retention', '0 2 * * *', 2, false),
  ('webhook_delivery_prune_daily', 'webhook_delivery_prune', '0 3 * * *', 3, true),
  ('expired_auth_cleanup_daily', 'expired_auth_cleanup', '0 5 * * *', 5, true),
  ('anonymous_user_cleanup_daily', 'anonymous_user_cleanup', '0 6 * * *', 6, false),
  ('log_retention_daily', 'log_retention', '0 6 * * *', 6, true),
  ('request_log_retention_daily', 'request_log_retention', '0 6 * * *', 6, true),
  ('job_retention_daily', 'job_retention', '0 7 * * *', 7, true),
  ('usage_retention_daily', 'usage_retention', '0 7 * * *', 7, true),
  ('session_cleanup_hourly', 'stale_session_cleanup', '0 * * * *', null, true),
  ('unfinished_auth_cleanup_hourly', 'unfinished_auth_cleanup', '30 * * * *', null, true),
  ('attempt_cleanup', 'attempt_cleanup', '*/10 * * * *', null, true),
  ('event_log_prune', 'event_log_prune', '*/10 * * * *', null, true),
  ('idempotency_key_cleanup', 'idempotency_key_cleanup', '*/10 * * * *', null, true),
  ('realtime_cleanup', 'realtime_cleanup', '*/10 * * * *', null, true)
) as built_in (name, job_type, cron_expr, hour, enabled);

-- Materialized views that are refreshed through the API.
create table basalt.matviews (
  id uuid primary key default gen_random_uuid(),
  schema_name text not null,
  view_name text not null,
  refresh_mode text not null default 'standard' check (refresh_mode in ('standard', 'concurrent')),
  last_refresh_at timestamptz,
  last_refresh_duration_ms int,
  last_refresh_status text check (last_refresh_status in ('success', 'error')),
  last_refresh_error text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (schema_name, view_name)
);
