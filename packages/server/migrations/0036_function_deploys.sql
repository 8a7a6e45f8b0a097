-- Deploys of functions: folders of the operator's code with its packages, by the hash of all paths and contents. They are in the
-- database, so that every node runs the same one.
create table basalt.function_deploys (
  -- SHA-256 over the paths and the hashes of the files, in hexadecimal.
  hash text primary key check (hash ~ '^[0-9a-f]{64}$'),
  file_count int not null,
  total_bytes bigint not null,
  -- Counts the promotions; a rollback goes to the highest below that of the live deploy. Null: never promoted, or left by a
  -- rollback.
  promotion bigint unique,
  created_at timestamptz not null default now(),
  -- Last time at which it was sent, promoted or left.
  used_at timestamptz not null default now()
);

create table basalt.function_files (
  hash text not null references basalt.function_deploys on delete cascade,
  path text not null,
  sha256 bytea not null check (octet_length(sha256) = 32),
  size int not null,
  primary key (hash, path)
);
create index function_files_sha256 on basalt.function_files (sha256);

-- Content of files by its SHA-256, once for all deploys that have it. It may arrive after the deploy that names it.
create table basalt.function_blobs (
  sha256 bytea primary key check (octet_length(sha256) = 32),
  bytes bytea not null,
  created_at timestamptz not null default now()
);

-- The live deploy: one row, which promotions and rollbacks lock and change.
create table basalt.function_live (
  is_only bool primary key default true check (is_only),
  hash text references basalt.function_deploys
);
insert into basalt.function_live default values;

insert into basalt.schedules (name, job_type, cron_expr, next_run_at)
values ('function_deploy_cleanup_daily', 'function_deploy_cleanup', '0 3 * * *',
  (date_trunc('day', now() at time zone 'UTC') + interval '1 day 3 hours') at time zone 'UTC');
