-- What is inserted and updated is counted once for a statement, as what is deleted is: an update of a counter for each object
-- leaves as many versions as there are objects, and each reads past those before it. 90,000 objects took longer than five
-- minutes.

-- Adds to what a user stores, and holds it to the quota. `is_gained`: the user has an object that it had not.
create function basalt.add_user_storage(owner uuid, delta bigint, is_gained bool) returns void language plpgsql
set search_path = pg_catalog, pg_temp as $$
declare
  -- Of the caller's statement: the default quota in bytes; empty where none applies.
  quota bigint := nullif(current_setting('basalt.storage_quota', true), '')::bigint;
  used bigint;
  own_quota int;
  owner_ended timestamptz;
begin
  insert into basalt.storage_usage as u (user_id, bytes) values (owner, delta)
  on conflict (user_id) do update set bytes = u.bytes + excluded.bytes
  returning bytes, quota_mb, ended_at into used, own_quota, owner_ended;
  if (delta > 0 or is_gained) and owner_ended is not null and not exists (select from basalt.users where id = owner) then
    raise exception 'the owner of the object was deleted' using errcode = 'insufficient_privilege';
  end if;
  if delta > 0 and quota is not null then
    quota := coalesce(own_quota * 1048576::bigint, quota);
    if quota > 0 and used + basalt.unfinished_upload_bytes(owner) > quota then
      raise exception 'storage quota exceeded' using errcode = 'BS002';
    end if;
  end if;
end $$;
revoke all on function basalt.add_user_storage(uuid, bigint, bool) from public;

-- Bytes that objects have got: each was staged, and for no other object.
create function basalt.commit_bytes(keys text[]) returns void language plpgsql
set search_path = pg_catalog, pg_temp as $$
declare
  committed bigint;
begin
  -- An array is looked up by index, whatever the planner thinks of its length.
  update basalt.stored_bytes b set state = 'committed', expires_at = null where b.key = any (keys) and b.state = 'staged';
  get diagnostics committed = row_count;
  if committed <> cardinality(keys) then
    raise exception 'the bytes are no longer staged' using errcode = 'BS001';
  end if;
end $$;
revoke all on function basalt.commit_bytes(text[]) from public;

-- Whatever adds or changes objects, plain SQL included: their bytes follow, the usage of users and apps is exact, copies are
-- purged, subscribers are notified. Rows are locked in one order: stored bytes by key, then users, then apps, each by id.
-- The statement of an upload updates or inserts, and both triggers fire.
create function basalt.track_added_objects() returns trigger language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
begin
  if not exists (select from added) then
    return null;
  end if;
  perform basalt.commit_bytes(array(select key from added));

  perform basalt.add_user_storage(u.user_id, u.bytes, true)
  from (
    select a.user_id, sum(a.size)::bigint as bytes from added a where a.user_id is not null
    group by a.user_id order by a.user_id
  ) u;

  perform basalt.add_app_storage(a.app_id, a.bytes)
  from (select a.app_id, sum(a.size)::bigint as bytes from added a group by a.app_id order by a.app_id) a;

  if exists (
    select from basalt.event_interests i
    where 'create' = any (i.actions) and (i.tables = '{}' or 'basalt.objects' = any (i.tables))
  ) then
    insert into basalt.outbox (action, table_name, record_key, record, hidden)
    select 'create', 'basalt.objects', json_build_array(a.id)::text, basalt.object_record(a), basalt.hidden_object_record(a)
    from added a;
  end if;
  return null;
end $$;
revoke all on function basalt.track_added_objects() from public;

-- A plan is made for the first statement and kept for the next ones, however many objects those change.
create function basalt.track_changed_objects() returns trigger language plpgsql security definer
set search_path = pg_catalog, pg_temp set enable_nestloop = 'off' as $$
declare
  replaced text[];
begin
  if not exists (select from new_rows) then
    return null;
  end if;
  replaced := array(select key from old_rows except select key from new_rows);
  if cardinality(replaced) > 0 then
    perform basalt.commit_bytes(array(select key from new_rows except select key from old_rows));
    update basalt.stored_bytes b set state = 'doomed' where b.key = any (replaced);
  end if;

  perform basalt.add_user_storage(u.user_id, u.bytes, u.is_gained)
  from (
    select c.user_id, sum(c.bytes)::bigint as bytes, bool_or(c.objects > 0) as is_gained
    from (
      select r.user_id, r.id, sum(r.bytes) as bytes, sum(r.objects) as objects
      from (
        select user_id, id, -size as bytes, -1 as objects from old_rows
        union all
        select user_id, id, size, 1 from new_rows
      ) r
      where r.user_id is not null
      group by r.user_id, r.id
    ) c
    group by c.user_id having sum(c.bytes) <> 0 or bool_or(c.objects > 0)
    order by c.user_id
  ) u;

  perform basalt.add_app_storage(a.app_id, a.bytes)
  from (
    select c.app_id, sum(c.bytes)::bigint as bytes
    from (select app_id, -size as bytes from old_rows union all select app_id, size from new_rows) c
    group by c.app_id order by c.app_id
  ) a;

  -- Content that an address no longer has.
  insert into basalt.storage_purges (bucket, name)
  select c.bucket, c.name
  from (select bucket, name, key from old_rows except select bucket, name, key from new_rows) c
  join basalt.buckets b on b.name = c.bucket and b.is_public;

  if exists (
    select from basalt.event_interests i
    where 'update' = any (i.actions) and (i.tables = '{}' or 'basalt.objects' = any (i.tables))
  ) then
    -- Both transition tables are filled row by row: their positions match.
    insert into basalt.outbox (action, table_name, record_key, record, old_record, hidden, old_hidden)
    select 'update', 'basalt.objects', json_build_array(n.id)::text, n.record, o.record, n.hidden, o.hidden
    from (
      select r.id, basalt.object_record(r) as record, basalt.hidden_object_record(r) as hidden,
        row_number() over () as position
      from new_rows r
    ) n
    join (
      select basalt.object_record(r) as record, basalt.hidden_object_record(r) as hidden, row_number() over () as position
      from old_rows r
    ) o using (position)
    order by position;
  end if;
  return null;
end $$;
revoke all on function basalt.track_changed_objects() from public;

-- As before, but for the array.
create or replace function basalt.track_deleted_objects() returns trigger language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
begin
  update basalt.stored_bytes b set state = 'doomed' where b.key = any (array(select key from ended));

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

drop trigger objects_tracked on basalt.objects;
drop function basalt.track_object();
create trigger objects_added after insert on basalt.objects
  referencing new table as added for each statement execute function basalt.track_added_objects();
create trigger objects_changed after update on basalt.objects
  referencing old table as old_rows new table as new_rows for each statement execute function basalt.track_changed_objects();
