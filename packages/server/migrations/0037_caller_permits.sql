-- Permits for requests of one user or one address, as nodes have them: leased, or used until a time.
create table basalt.caller_permit_leases (
  id uuid primary key,
  -- `user` or `address`, and its key.
  caller text not null,
  permits int not null,
  -- Permits that no request was waiting for.
  ahead int not null,
  begins_at timestamptz not null,
  -- No permit of the lease is used later.
  ends_at timestamptz not null
);
create index caller_permit_leases_caller on basalt.caller_permit_leases (caller, ends_at);
create index caller_permit_leases_ends_at on basalt.caller_permit_leases (ends_at);

/*
 * Leases permits of a user or an address to a node, as basalt.lease_permits does for an app. The limit is the node's, because
 * it is configuration. Each grant also deletes a few ended leases of other callers, so that the table holds the leases of one
 * window, however many callers there are.
 */
create function basalt.lease_caller_permits(
  lease uuid, caller_key text, request_limit int, window_seconds float8, wanted int, more_wanted int, lease_seconds float8,
  reports jsonb, out granted int, out retry_after_ms float8, out unleased int
) language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  window_length interval := make_interval(secs => window_seconds);
  moment timestamptz;
  counted bigint;
  outstanding bigint;
  granted_ahead int;
begin
  -- One lease of a caller at a time. The statements below see what the one before has written.
  perform pg_advisory_xact_lock(hashtextextended('basalt.lease_caller_permits ' || caller_key, 0));
  moment := clock_timestamp();
  update basalt.caller_permit_leases l
  set permits = least(l.permits, r.used + r."left"), ahead = r."left",
    ends_at = case when r."left" > 0 then l.ends_at
      else least(l.ends_at, l.begins_at + make_interval(secs => r."usedForSeconds")) end
  from jsonb_to_recordset(reports) r (id uuid, used int, "left" int, "usedForSeconds" float8)
  where l.id = r.id and l.caller = caller_key;
  delete from basalt.caller_permit_leases
  where caller = caller_key and (ends_at <= moment - window_length or permits = 0);
  select coalesce(sum(permits), 0), coalesce(sum(ahead) filter (where ends_at > moment), 0)
  into counted, outstanding from basalt.caller_permit_leases where caller = caller_key;
  granted := greatest(0, least(wanted, request_limit - counted));
  granted_ahead := greatest(0, least(
    more_wanted, request_limit - counted - granted, (request_limit / 25 - outstanding + 1) / 2));
  if granted + granted_ahead > 0 then
    insert into basalt.caller_permit_leases (id, caller, permits, ahead, begins_at, ends_at)
    values (lease, caller_key, granted + granted_ahead, granted_ahead, moment,
      moment + make_interval(secs => lease_seconds));
    delete from basalt.caller_permit_leases where id = any (array(
      select id from basalt.caller_permit_leases where ends_at <= moment - window_length
      order by ends_at limit 4 for update skip locked));
  end if;
  unleased := greatest(0, request_limit - counted - granted - granted_ahead);
  granted := granted + granted_ahead;
  if granted < wanted then
    select extract(epoch from min(ends_at) + window_length - moment) * 1000 into retry_after_ms
    from basalt.caller_permit_leases where caller = caller_key;
  end if;
end $$;
revoke all on function basalt.lease_caller_permits(uuid, text, int, float8, int, int, float8, jsonb) from public;
