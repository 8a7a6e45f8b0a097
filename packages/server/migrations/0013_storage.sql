-- Files of users. A row of basalt.objects is the truth about a file; its bytes lie under a random key on a disk or in S3
-- (see features/files/storage/README.md).
create table basalt.buckets (
  name text collate "C" primary key check (name ~ '^[a-z0-9_-]{1,63}$'),
  id uuid not null unique default gen_random_uuid(),
  -- Whether everybody may read its objects by their addresses.
  is_public bool not null,
  -- In bytes; null: as configured.
  max_file_size bigint check (max_file_size > 0),
  -- Media types, image/* included; null: all.
  allowed_types text[],
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);

-- What lies in the place where bytes are kept. A row is there before the bytes and until they are removed, so that nothing
-- is ever stored without one.
create table basalt.stored_bytes (
  key text collate "C" primary key check (key ~ '^[0-9a-f]{32}$'),
  -- staged: being written; committed: an object or a part of an upload has it; doomed: to be removed.
  state text not null default 'staged' check (state in ('staged', 'committed', 'doomed')),
  -- When what is staged counts as abandoned.
  expires_at timestamptz
);
create index stored_bytes_doomed on basalt.stored_bytes (key) where state = 'doomed';
create index stored_bytes_staged on basalt.stored_bytes (expires_at) where state = 'staged';

create table basalt.objects (
  id uuid primary key default gen_random_uuid(),
  bucket text collate "C" not null references basalt.buckets,
  name text collate "C" not null check (octet_length(name) between 1 and 1024),
  size bigint not null check (size >= 0),
  content_type text not null,
  -- Who made it: a user; null where an administrator did. Overwriting does not change it.
  user_id uuid,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  -- Columns of the system, which callers cannot read.
  app_id uuid not null,
  key text collate "C" not null unique references basalt.stored_bytes,
  -- The key names one version of the content, and so does this.
  etag text not null generated always as (
    lpad(to_hex(hashtextextended(key, 0)), 16, '0') || lpad(to_hex(hashtextextended(key, 1)), 16, '0')
  ) stored,
  unique (bucket, name)
);
create index objects_user_id on basalt.objects (user_id);
-- Callers see what policies of the operator let them see, which is nothing until there is one.
alter table basalt.objects enable row level security;

-- What the objects of a user take, and what they may take.
create table basalt.storage_usage (
  user_id uuid primary key,
  bytes bigint not null default 0,
  -- In MiB, 0: without limit. Null: as configured.
  quota_mb int check (quota_mb >= 0),
  -- When the account was deleted: what its last uploads bring is refused until they have ended, too.
  ended_at timestamptz
);
create index storage_usage_ended_at on basalt.storage_usage (ended_at) where ended_at is not null;

-- What the objects of an app take, in parts that together are exact: a transaction adds to one that no other holds, so that
-- uploads do not wait for each other. There are as many as transactions at once. One part alone may be negative.
create table basalt.app_storage_usage (
  app_id uuid not null,
  part int not null,
  bytes bigint not null,
  -- What unfinished resumable uploads have declared: their bytes arrive before their objects.
  reserved bigint not null default 0,
  primary key (app_id, part)
);

-- Addresses whose copies in a content delivery network are out of date; the reaper hands them to the purge.
create table basalt.storage_purges (
  id bigint generated always as identity primary key,
  bucket text not null,
  name text not null
);

-- Adds to what an app stores and to what its unfinished uploads reserve.
create function basalt.add_app_storage(app uuid, delta bigint, reservation bigint default 0) returns void language plpgsql
set search_path = pg_catalog, pg_temp as $$
declare
  -- Of the caller's statement: bytes by the name of a plan; empty where none is enforced.
  limits jsonb := nullif(current_setting('basalt.storage_limits', true), '')::jsonb;
  most bigint;
  free int;
begin
  if delta = 0 and reservation = 0 then
    return;
  end if;
  if (delta > 0 or reservation > 0) and limits is not null then
    most := (select (limits ->> a.plan)::bigint from basalt.apps a where a.id = app);
  end if;
  if most > 0 then
    -- One at a time, so that of two at once the second one counts the first.
    perform pg_advisory_xact_lock(hashtextextended('basalt storage of ' || app, 0));
  end if;
  select p.part into free from basalt.app_storage_usage p where p.app_id = app limit 1 for update skip locked;
  insert into basalt.app_storage_usage as u (app_id, part, bytes, reserved)
  values (app, coalesce(free, pg_backend_pid()), delta, reservation)
  on conflict (app_id, part) do update set bytes = u.bytes + excluded.bytes, reserved = u.reserved + excluded.reserved;
  if most > 0 and most < (select sum(u.bytes + u.reserved) from basalt.app_storage_usage u where u.app_id = app) then
    raise exception 'the plan of the app has no room' using errcode = 'BS005';
  end if;
end $$;
revoke all on function basalt.add_app_storage(uuid, bigint, bigint) from public;

-- What the unfinished uploads of a user have declared. The row of the user's usage is locked before this is asked: of two at
-- once the second one counts the first.
create function basalt.unfinished_upload_bytes(owner uuid) returns bigint language plpgsql stable
set search_path = pg_catalog, pg_temp as $$
begin
  return (
    select coalesce(sum(r.size), 0) from basalt.resumable_uploads r
    where r.user_id = owner and r.completed_at is null and r.expires_at > now()
  );
end $$;
revoke all on function basalt.unfinished_upload_bytes(uuid) from public;

-- Whatever adds or changes an object, plain SQL included: its bytes follow, the usage of its user and of its app is exact,
-- copies of it are purged, subscribers are notified.
create function basalt.track_object() returns trigger language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
declare
  -- Of the caller's statement: the default quota in bytes; empty where none applies.
  quota bigint := nullif(current_setting('basalt.storage_quota', true), '')::bigint;
  is_replaced bool := tg_op = 'UPDATE' and new.key is distinct from old.key;
  change text := case tg_op when 'INSERT' then 'create' else 'update' end;
  owner uuid;
  delta bigint;
  gained int;
  used bigint;
  own_quota int;
  owner_ended timestamptz;
begin
  if tg_op = 'INSERT' or is_replaced then
    update basalt.stored_bytes set state = 'committed', expires_at = null where key = new.key and state = 'staged';
    if not found then
      raise exception 'the bytes are no longer staged' using errcode = 'BS001';
    end if;
  end if;
  if is_replaced then
    update basalt.stored_bytes set state = 'doomed' where key = old.key;
  end if;

  -- In the order of users: in one order no deadlock arises.
  for owner, delta, gained in
    select c.user_id, sum(c.bytes), sum(c.objects)
    from (values
      (case when tg_op = 'UPDATE' then old.user_id end, case when tg_op = 'UPDATE' then -old.size end, -1),
      (new.user_id, new.size, 1)
    ) c (user_id, bytes, objects)
    where c.user_id is not null
    group by c.user_id having sum(c.bytes) <> 0 or sum(c.objects) > 0
    order by c.user_id
  loop
    insert into basalt.storage_usage as u (user_id, bytes) values (owner, delta)
    on conflict (user_id) do update set bytes = u.bytes + excluded.bytes
    returning bytes, quota_mb, ended_at into used, own_quota, owner_ended;
    if (delta > 0 or gained > 0) and owner_ended is not null and not exists (select from basalt.users where id = owner) then
      raise exception 'the owner of the object was deleted' using errcode = 'insufficient_privilege';
    end if;
    if delta > 0 and quota is not null then
      quota := coalesce(own_quota * 1048576::bigint, quota);
      if quota > 0 and used + basalt.unfinished_upload_bytes(owner) > quota then
        raise exception 'storage quota exceeded' using errcode = 'BS002';
      end if;
    end if;
  end loop;

  if tg_op = 'UPDATE' and new.app_id = old.app_id then
    perform basalt.add_app_storage(new.app_id, new.size - old.size);
  else
    if tg_op = 'UPDATE' then
      perform basalt.add_app_storage(old.app_id, -old.size);
    end if;
    perform basalt.add_app_storage(new.app_id, new.size);
  end if;

  if is_replaced or (tg_op = 'UPDATE' and (new.bucket, new.name) <> (old.bucket, old.name)) then
    insert into basalt.storage_purges (bucket, name)
    select old.bucket, old.name from basalt.buckets b where b.name = old.bucket and b.is_public;
  end if;

  if exists (
    select from basalt.event_interests i
    where change = any (i.actions) and (i.tables = '{}' or 'basalt.objects' = any (i.tables))
  ) then
    insert into basalt.outbox (action, table_name, record_key, record, old_record, hidden, old_hidden)
    values (change, 'basalt.objects', json_build_array(new.id)::text,
      basalt.object_record(new), case when tg_op = 'UPDATE' then basalt.object_record(old) end,
      basalt.hidden_object_record(new), case when tg_op = 'UPDATE' then basalt.hidden_object_record(old) end);
  end if;
  return null;
end $$;
revoke all on function basalt.track_object() from public;

-- The same of what is deleted, once for a statement: an update for each object would leave as many versions of a counter
-- as the bucket has objects, and each would read past those before it.
create function basalt.track_deleted_objects() returns trigger language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
begin
  update basalt.stored_bytes b set state = 'doomed' from ended e where b.key = e.key;

  insert into basalt.storage_usage as u (user_id, bytes)
  select e.user_id, -sum(e.size) from ended e where e.user_id is not null
  group by e.user_id having sum(e.size) > 0
  order by e.user_id
  on conflict (user_id) do update set bytes = u.bytes + excluded.bytes;

  perform basalt.add_app_storage(a.app_id, -a.bytes)
  from (select e.app_id, sum(e.size)::bigint as bytes from ended e group by e.app_id order by e.app_id) a;

  insert into basalt.storage_purges (bucket, name)
  select e.bucket, e.name from ended e join basalt.buckets b on b.name = e.bucket and b.is_public;

  if exists (
    select from basalt.event_interests i
    where 'delete' = any (i.actions) and (i.tables = '{}' or 'basalt.objects' = any (i.tables))
  ) then
    insert into basalt.outbox (action, table_name, record_key, record, hidden)
    select 'delete', 'basalt.objects', json_build_array(e.id)::text, basalt.object_record(e), basalt.hidden_object_record(e)
    from ended e;
  end if;
  return null;
end $$;
revoke all on function basalt.track_deleted_objects() from public;

-- What events say of an object.
create function basalt.object_record(o basalt.objects) returns json language sql stable
set search_path = pg_catalog, pg_temp as $$
  select json_build_object('id', o.id, 'bucket', o.bucket, 'name', o.name, 'size', o.size, 'content_type', o.content_type,
    'user_id', o.user_id, 'created_at', o.created_at, 'updated_at', o.updated_at, 'etag', o.etag)
$$;
revoke all on function basalt.object_record(basalt.objects) from public;

-- The columns of the system, which policies may name: streams are decided by them, too.
create function basalt.hidden_object_record(o basalt.objects) returns json language sql stable
set search_path = pg_catalog, pg_temp as $$
  select json_build_object('app_id', o.app_id, 'key', o.key)
$$;
revoke all on function basalt.hidden_object_record(basalt.objects) from public;

create trigger objects_tracked after insert or update on basalt.objects
  for each row execute function basalt.track_object();
create trigger objects_deleted after delete on basalt.objects
  referencing old table as ended for each statement execute function basalt.track_deleted_objects();

-- Addresses that open an object without a token. Only a hash of what they carry is stored; to end one is to delete its row.
create table basalt.signed_addresses (
  signature_hash bytea primary key,
  kind text not null check (kind in ('download', 'upload')),
  bucket text collate "C" not null references basalt.buckets on delete cascade,
  name text collate "C" not null,
  -- Of a download: it ends with its object.
  object_id uuid references basalt.objects on delete cascade,
  -- On whose behalf: null for an administrator, and for a program that acts for no user.
  user_id uuid,
  -- As the policies saw the caller; null for an administrator.
  scope jsonb,
  app_id uuid not null,
  -- The API key or the client of the OAuth server that it was signed with: it ends with them.
  key_id uuid,
  client_id uuid,
  expires_at timestamptz not null,
  created_at timestamptz not null default now(),
  check ((kind = 'download') = (object_id is not null))
);
create index signed_addresses_name on basalt.signed_addresses (bucket, name);
create index signed_addresses_object_id on basalt.signed_addresses (object_id);
create index signed_addresses_user_id on basalt.signed_addresses (user_id);
create index signed_addresses_expires_at on basalt.signed_addresses (expires_at);

-- The files of a user end with the account, and so do the addresses that were signed on its behalf.
create function basalt.delete_storage_of_users() returns trigger language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
begin
  -- In the order in which uploads and deletions of objects lock rows: in one order no deadlock arises.
  perform from basalt.resumable_uploads r join ended e on e.id = r.user_id order by r.id for update of r;
  perform from basalt.objects o join ended e on e.id = o.user_id order by o.id for update of o;
  -- An upload of the user either has its object by now, which is deleted below, or finds this row.
  insert into basalt.storage_usage (user_id, ended_at) select id, now() from ended order by id
  on conflict (user_id) do update set ended_at = excluded.ended_at;
  delete from basalt.signed_addresses s using ended e where s.user_id = e.id;
  delete from basalt.resumable_uploads r using ended e where r.user_id = e.id;
  delete from basalt.objects o using ended e where o.user_id = e.id;
  return null;
end $$;
revoke all on function basalt.delete_storage_of_users() from public;
create trigger users_storage after delete on basalt.users
  referencing old table as ended for each statement execute function basalt.delete_storage_of_users();

-- What was made of images, kept because it may be asked for again. It ends with the bytes it was made from.
create table basalt.image_variants (
  source_key text collate "C" not null references basalt.stored_bytes on delete cascade,
  -- The transform, in one spelling.
  parameters text collate "C" not null,
  key text collate "C" not null unique references basalt.stored_bytes on delete cascade,
  size bigint not null,
  used_at timestamptz not null default now(),
  primary key (source_key, parameters)
);

create function basalt.doom_image_variants() returns trigger language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
begin
  update basalt.stored_bytes b set state = 'doomed' from ended e where b.key = e.key;
  return null;
end $$;
revoke all on function basalt.doom_image_variants() from public;
create trigger image_variants_doomed after delete on basalt.image_variants
  referencing old table as ended for each statement execute function basalt.doom_image_variants();

-- Uploads that come in several requests, to any node (tus 1.0). Parts that have arrived are durable before the offset moves.
create table basalt.resumable_uploads (
  id uuid primary key default gen_random_uuid(),
  bucket text collate "C" not null references basalt.buckets on delete cascade,
  name text collate "C" not null check (octet_length(name) between 1 and 1024),
  size bigint not null check (size >= 0),
  -- How many bytes have arrived.
  received bigint not null default 0 check (received between 0 and size),
  -- As the client declared it.
  content_type text not null,
  -- Upload-Metadata as it was sent.
  metadata text,
  -- Its owner; null: an administrator, or a program that acts for no user.
  user_id uuid,
  -- Whose storage is reserved until it has ended.
  app_id uuid not null,
  -- Who may go on with it, as one text.
  actor text not null,
  -- Of the request that adds to it; another one may take it when the time is up.
  lease uuid,
  lease_until timestamptz,
  -- When the object was made; null: bytes are missing, or their object.
  completed_at timestamptz,
  expires_at timestamptz not null
);
create index resumable_uploads_bucket on basalt.resumable_uploads (bucket);
create index resumable_uploads_user_id on basalt.resumable_uploads (user_id);
-- For the sum of what is reserved: those that are complete stay for a day.
create index resumable_uploads_unfinished on basalt.resumable_uploads (user_id) where completed_at is null;
create index resumable_uploads_expires_at on basalt.resumable_uploads (expires_at);

-- What a request added to an upload, from this byte on.
create table basalt.resumable_parts (
  upload_id uuid not null references basalt.resumable_uploads on delete cascade,
  start bigint not null,
  size bigint not null check (size > 0),
  key text collate "C" not null unique references basalt.stored_bytes,
  primary key (upload_id, start)
);

-- The bytes of a part are kept as long as its row, whether the API or SQL deletes it.
create function basalt.track_resumable_part() returns trigger language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
begin
  if tg_op = 'INSERT' then
    update basalt.stored_bytes set state = 'committed', expires_at = null where key = new.key and state = 'staged';
    if not found then
      raise exception 'the bytes are no longer staged' using errcode = 'BS001';
    end if;
  else
    update basalt.stored_bytes set state = 'doomed' where key = old.key;
  end if;
  return null;
end $$;
revoke all on function basalt.track_resumable_part() from public;
create trigger resumable_parts_tracked after insert or delete on basalt.resumable_parts
  for each row execute function basalt.track_resumable_part();

-- The declared size is reserved in the quota of the user and in the plan of the app, whatever it replaces: the old bytes stay
-- until the new ones are whole.
create function basalt.reserve_resumable_upload() returns trigger language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
declare
  quota bigint := nullif(current_setting('basalt.storage_quota', true), '')::bigint;
  used bigint;
  owner_ended timestamptz;
begin
  if new.user_id is not null and quota is not null then
    insert into basalt.storage_usage as u (user_id) values (new.user_id)
    on conflict (user_id) do update set bytes = u.bytes
    returning u.bytes, coalesce(u.quota_mb * 1048576::bigint, quota), u.ended_at into used, quota, owner_ended;
    if owner_ended is not null and not exists (select from basalt.users where id = new.user_id) then
      raise exception 'the owner of the upload was deleted' using errcode = 'insufficient_privilege';
    end if;
    if new.size > 0 and quota > 0 and used + basalt.unfinished_upload_bytes(new.user_id) > quota then
      raise exception 'storage quota exceeded' using errcode = 'BS002';
    end if;
  end if;
  perform basalt.add_app_storage(new.app_id, 0, new.size);
  return null;
end $$;
revoke all on function basalt.reserve_resumable_upload() from public;
create trigger resumable_uploads_reserved after insert on basalt.resumable_uploads
  for each row execute function basalt.reserve_resumable_upload();

-- What was terminated or expired, with its bucket and its user too, reserves nothing any more.
create function basalt.release_resumable_uploads() returns trigger language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
begin
  perform basalt.add_app_storage(a.app_id, 0, -a.bytes)
  from (
    select e.app_id, sum(e.size)::bigint as bytes from ended e where e.completed_at is null
    group by e.app_id order by e.app_id
  ) a;
  return null;
end $$;
revoke all on function basalt.release_resumable_uploads() from public;
create trigger resumable_uploads_released after delete on basalt.resumable_uploads
  referencing old table as ended for each statement execute function basalt.release_resumable_uploads();

-- Ends an upload in the transaction that makes its object, which fails when the lease has been lost.
create function basalt.complete_resumable_upload(upload uuid, own_lease uuid) returns void language plpgsql
set search_path = pg_catalog, pg_temp as $$
declare
  app uuid;
  reserved bigint;
begin
  update basalt.resumable_uploads set completed_at = now(), lease = null, lease_until = null
  where id = upload and lease = own_lease and completed_at is null
  returning app_id, size into app, reserved;
  if not found then
    raise exception 'the lease of the upload was lost' using errcode = 'BS003';
  end if;
  perform basalt.add_app_storage(app, 0, -reserved);
  delete from basalt.resumable_parts where upload_id = upload;
end $$;
revoke all on function basalt.complete_resumable_upload(uuid, uuid) from public;

insert into basalt.schedules (name, job_type, cron_expr, next_run_at)
values ('storage_reaper', 'storage_reaper', '*/5 * * * *', date_trunc('hour', now()) + interval '1 hour');
