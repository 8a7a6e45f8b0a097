-- Static sites: what they hold is in the database, so that every node serves every site.
-- Domains that people own. They are served once their owner has published the token.
create table basalt.site_domains (
  id uuid primary key default gen_random_uuid(),
  -- In ASCII and lower case.
  hostname text not null,
  environment text not null,
  redirect_mode text check (redirect_mode in ('permanent', 'temporary')),
  status text not null default 'pending_verification' check (status in (
    'pending_verification', 'verified', 'verification_failed', 'verification_lapsed', 'tombstoned')),
  verification_token text not null,
  -- Daily checks in a row that have not found it.
  failed_checks int not null default 0,
  last_error text,
  verified_at timestamptz,
  checked_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
-- What was deleted may be registered again.
create unique index site_domains_hostname on basalt.site_domains (hostname) where status <> 'tombstoned';
create index site_domains_verified on basalt.site_domains (id) where status = 'verified';
create index site_domains_tombstoned on basalt.site_domains (updated_at) where status = 'tombstoned';
create index site_domains_newest on basalt.site_domains (created_at desc, id desc);

create table basalt.sites (
  id uuid primary key default gen_random_uuid(),
  name text not null,
  -- A DNS label (RFC 1035 §2.3.1): the site's host name begins with it.
  slug text not null unique check (slug ~ '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$'),
  spa_mode bool not null default false,
  custom_domain_id uuid unique references basalt.site_domains,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create index sites_newest on basalt.sites (created_at desc, id desc);

create table basalt.site_deploys (
  id uuid primary key default gen_random_uuid(),
  site_id uuid not null references basalt.sites on delete cascade,
  status text not null default 'uploading' check (status in ('uploading', 'live', 'superseded', 'failed')),
  file_count int not null default 0,
  total_bytes bigint not null default 0,
  error_message text,
  -- Counts the promotions of a site; a rollback goes to the highest below that of the live deploy. Null: never promoted, or
  -- left by a rollback.
  promotion bigint,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  check (status <> 'live' or promotion is not null)
);
create unique index site_deploys_live on basalt.site_deploys (site_id) where status = 'live';
create unique index site_deploys_promotion on basalt.site_deploys (site_id, promotion);
create index site_deploys_newest on basalt.site_deploys (site_id, created_at desc, id desc);

-- Content of files by its SHA-256, once for all deploys that have it.
create table basalt.site_blobs (
  sha256 bytea primary key check (octet_length(sha256) = 32),
  bytes bytea not null,
  -- As they are sent to clients that accept them; null where they are not smaller.
  brotli bytea,
  gzip bytea,
  created_at timestamptz not null default now()
);
-- Compressing them again would gain nothing.
alter table basalt.site_blobs alter bytes set storage external;
alter table basalt.site_blobs alter brotli set storage external;
alter table basalt.site_blobs alter gzip set storage external;

create table basalt.site_files (
  deploy_id uuid not null references basalt.site_deploys on delete cascade,
  path text not null,
  sha256 bytea not null references basalt.site_blobs,
  size int not null,
  content_type text not null,
  primary key (deploy_id, path)
);
create index site_files_sha256 on basalt.site_files (sha256);

-- Blobs that may be unused, since a file that had them was removed or replaced.
create table basalt.site_released_blobs (
  sha256 bytea primary key
);

create function basalt.release_site_blobs() returns trigger language plpgsql security definer
set search_path = pg_catalog as $$
begin
  -- In one order, so that deletions at the same time cannot deadlock.
  insert into basalt.site_released_blobs select distinct sha256 from removed order by sha256 on conflict do nothing;
  return null;
end $$;
revoke all on function basalt.release_site_blobs() from public;

create trigger site_files_deleted after delete on basalt.site_files
  referencing old table as removed for each statement execute function basalt.release_site_blobs();
create trigger site_files_replaced after update on basalt.site_files
  referencing old table as removed for each statement execute function basalt.release_site_blobs();

-- Nodes keep in memory which deploy of which site is live for as long as this version stays the same.
create table basalt.site_version (
  is_only bool primary key default true check (is_only),
  version bigint not null default 0,
  changed_by xid8
);
insert into basalt.site_version default values;

create function basalt.change_site_version() returns trigger language plpgsql security definer
set search_path = pg_catalog as $$
begin
  update basalt.site_version set version = version + 1, changed_by = pg_current_xact_id()
  where changed_by is distinct from pg_current_xact_id();
  return null;
end $$;
revoke all on function basalt.change_site_version() from public;

create constraint trigger sites_version after insert or update or delete on basalt.sites
  deferrable initially deferred for each row execute function basalt.change_site_version();
-- Daily checks change what is not served.
create constraint trigger site_domains_version after update on basalt.site_domains
  deferrable initially deferred for each row when (old.status is distinct from new.status)
  execute function basalt.change_site_version();
create constraint trigger site_domains_deleted after delete on basalt.site_domains
  deferrable initially deferred for each row execute function basalt.change_site_version();
create constraint trigger site_deploys_version after update of status on basalt.site_deploys
  deferrable initially deferred for each row execute function basalt.change_site_version();
create constraint trigger site_deploys_deleted after delete on basalt.site_deploys
  deferrable initially deferred for each row execute function basalt.change_site_version();

insert into basalt.schedules (name, job_type, cron_expr, next_run_at)
values
  ('site_cleanup_daily', 'site_cleanup', '0 3 * * *',
    (date_trunc('day', now() at time zone 'UTC') + interval '1 day 3 hours') at time zone 'UTC'),
  ('site_domain_reverify_daily', 'site_domain_reverify', '0 4 * * *',
    (date_trunc('day', now() at time zone 'UTC') + interval '1 day 4 hours') at time zone 'UTC');
