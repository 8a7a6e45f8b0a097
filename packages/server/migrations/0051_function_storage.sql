-- Statements of storage that functions make in the transaction of their caller.

-- Finds an object without policies, signs an address, or ends addresses, with a seal of the server as for jobs. In the same
-- transaction it sees objects that are not committed, and does not wait for locks that the transaction holds.
create function basalt.storage_sealed(request text, seal text) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  given constant jsonb := request::jsonb;
  session constant uuid := given ->> 'sessionId';
  expires timestamptz;
  ended int;
begin
  if seal is distinct from (
    select encode(sha256(s.key || sha256(convert_to('storage ' || request, 'UTF8'))), 'hex') from basalt.job_seal s
  ) then
    raise insufficient_privilege using message = 'the request has no seal of the server';
  end if;

  if given ->> 'kind' = 'find' then
    return (
      select json_build_object('isPublic', b.is_public, 'object', case when o.id is not null then json_build_object(
        'id', o.id, 'bucket', o.bucket, 'name', o.name, 'size', o.size, 'contentType', o.content_type, 'userId', o.user_id,
        'createdAt', o.created_at, 'updatedAt', o.updated_at, 'key', o.key, 'etag', o.etag) end)
      from basalt.buckets b left join basalt.objects o on o.bucket = b.name and o.name = given ->> 'name'
      where b.name = given ->> 'bucket'
    );
  end if;

  if given ->> 'kind' = 'revoke' then
    delete from basalt.signed_addresses s
    where s.bucket = given ->> 'bucket' and s.name = given ->> 'name' and case
      when given -> 'owner' = 'null' then true
      when given #>> '{owner,userId}' is null then
        s.user_id is null and s.scope is not null and s.app_id = (given #>> '{owner,appId}')::uuid
      else s.user_id = (given #>> '{owner,userId}')::uuid end;
    get diagnostics ended = row_count;
    return ended;
  end if;

  -- The session or the grant is held until the transaction ends.
  if given ->> 'grantId' is not null then
    perform from basalt.oauth_grants g where g.id = (given ->> 'grantId')::uuid and g.revoked_at is null for share;
  elsif session is null or session::text = given ->> 'userId' then
    perform 1;
  elsif given -> 'scope' = 'null' then
    perform from basalt.admin_sessions s where s.id = session for key share;
  else
    perform from basalt.sessions s where s.id = session for key share;
  end if;
  if not found then
    return 'session ended';
  end if;
  if given ->> 'objectId' is not null then
    perform from basalt.objects o
    where o.id = (given ->> 'objectId')::uuid and o.user_id is not distinct from (given ->> 'ownerId')::uuid
    for share;
    if not found then
      return 'object missing';
    end if;
  end if;
  insert into basalt.signed_addresses (signature_hash, kind, bucket, name, object_id, user_id, scope, app_id, key_id,
    client_id, grant_id, session_id, expires_at)
  values (decode(given ->> 'signatureHash', 'hex'), case when given ->> 'objectId' is null then 'upload' else 'download' end,
    given ->> 'bucket', given ->> 'name', (given ->> 'objectId')::uuid, (given ->> 'userId')::uuid,
    nullif(given -> 'scope', 'null'), (given ->> 'appId')::uuid, (given ->> 'keyId')::uuid, (given ->> 'clientId')::uuid,
    (given ->> 'grantId')::uuid, session,
    date_trunc('second', clock_timestamp()) + make_interval(secs => (given ->> 'seconds')::int))
  returning expires_at into expires;
  return extract(epoch from expires)::bigint;
exception when foreign_key_violation then
  return 'object missing';
end $$;
revoke all on function basalt.storage_sealed(text, text) from public;
