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
  -- Null while disabled. Whoever moves it on adds the job, in one transaction.
  next_run_at timestamptz,
  last_run_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  check (enabled = (next_run_at is not null))
);
create index schedules_next_run_at on basalt.schedules (next_run_at) where next_run_at is not null;

-- Housekeeping. Whoever removes one of these does not get it back.
insert into basalt.schedules (name, job_type, cron_expr, enabled, next_run_at)
select name, job_type, format('0 %s * * *', hour), enabled,
  case when enabled then
    (date_trunc('day', now() at time zone 'UTC') + interval '1 day' + make_interval(hours => hour)) at time zone 'UTC'
  end
from (values
  ('audit_retention_daily', 'audit_log_retention', 2, false),
  ('expired_auth_cleanup_daily', 'expired_auth_cleanup', 5, true),
  ('anonymous_user_cleanup_daily', 'anonymous_user_cleanup', 6, false),
  ('job_retention_daily', 'job_retention', 7, true)
) as built_in (name, job_type, hour, enabled);

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
