-- Requests of callers log in as basalt_gateway, a role without rights that may only become basalt_authenticated or
-- basalt_anonymous. What the server itself does inside the message of a caller is done by the functions below: they work
-- as their owner, the gateway may execute them, and the roles of callers may not (preparation/access.ts grants them).
-- Text that reaches `execute` in a function of the operator can become the gateway, too: none of them reads a row that its
-- arguments do not name by a random value, and none changes what is committed.

-- The schema of temporary tables comes last: unless it is named, types and tables in it are found before all others
-- (PostgreSQL, CREATE FUNCTION, Writing SECURITY DEFINER Functions Safely).
do $$
declare
  own regprocedure;
begin
  for own in
    select p.oid from pg_catalog.pg_proc p
    where p.pronamespace = 'basalt'::regnamespace and 'search_path=pg_catalog' = any (p.proconfig)
  loop
    execute format('alter function %s set search_path = pg_catalog, pg_temp', own);
  end loop;
end $$;

-- Waits while another transaction has the key, and fails when that commits.
create function basalt.reserve_idempotency_key(owner text, key text, fingerprint text) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  if octet_length($1) > 4096 or octet_length($2) > 255 or octet_length($3) <> 64 then
    raise invalid_parameter_value using message = 'no key of a write';
  end if;
  insert into basalt.idempotency_keys (owner, key, fingerprint) values ($1, $2, decode($3, 'hex'));
end
$$;
revoke all on function basalt.reserve_idempotency_key(text, text, text) from public;

-- A row without a result was reserved by this transaction: those of others are not visible. What is committed stays.
create function basalt.store_idempotency_result(owner text, key text, result text) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  if octet_length($3) > 64 * 1024 * 1024 then
    raise program_limit_exceeded using message = 'the answer of a write with an Idempotency-Key is too large';
  end if;
  update basalt.idempotency_keys k set result = $3 where k.owner = $1 and k.key = $2 and k.result is null;
  if not found then
    raise object_not_in_prerequisite_state using message = 'the key of the write is not reserved';
  end if;
end
$$;
revoke all on function basalt.store_idempotency_result(text, text, text) from public;

-- The object of these bytes, and whether its bucket is public. The key is random, and callers cannot read it.
create function basalt.stored_object(object_key text) returns text
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return (
    select json_build_object('isPublic', b.is_public, 'object', json_build_object(
      'id', o.id, 'bucket', o.bucket, 'name', o.name, 'size', o.size, 'contentType', o.content_type, 'userId', o.user_id,
      'createdAt', o.created_at, 'updatedAt', o.updated_at, 'key', o.key, 'etag', o.etag))
    from basalt.objects o join basalt.buckets b on b.name = o.bucket
    where o.key = object_key
  );
end
$$;
revoke all on function basalt.stored_object(text) from public;

-- A key without bytes, for the trial of an upload; the reaper removes one that is left.
create function basalt.stage_trial(object_key text) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  insert into basalt.stored_bytes (key, expires_at) values (object_key, now());
end
$$;
revoke all on function basalt.stage_trial(text) from public;

-- Fails, so that nothing of a trial stays.
create function basalt.end_trial() returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  raise exception 'the trial has passed' using errcode = 'BS004';
end
$$;
revoke all on function basalt.end_trial() from public;

-- It takes the lease, a random value.
alter function basalt.complete_resumable_upload(uuid, uuid) security definer;

-- Where an import keeps the rows that it has received. Callers read it, the role that the session logged in as fills it.
create function basalt.create_import_staging() returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  caller name;
begin
  create temp table basalt_import (
    ordinal int primary key, column_set int not null, doc text not null
  ) on commit drop;
  execute format('grant select, insert, delete on pg_temp.basalt_import to %I', session_user);
  for caller in select rolname from pg_roles where rolname in ('basalt_authenticated', 'basalt_anonymous') loop
    execute format('grant select on pg_temp.basalt_import to %I', caller);
  end loop;
end
$$;
revoke all on function basalt.create_import_staging() from public;

-- The owner of a table alone may.
create function basalt.analyze_import_staging() returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  analyze pg_temp.basalt_import;
end
$$;
revoke all on function basalt.analyze_import_staging() from public;

-- Ends an import with its rows; false when it is taken for lost. The id is random.
create function basalt.succeed_import(import uuid, result text, written bigint, failed bigint) returns bool
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  update basalt.imports i
  set state = 'succeeded', result = $2::json, finished_at = clock_timestamp(), rows_written = $3, failed = $4
  where i.id = $1 and i.state = 'running';
  return found;
end
$$;
revoke all on function basalt.succeed_import(uuid, text, bigint, bigint) from public;
