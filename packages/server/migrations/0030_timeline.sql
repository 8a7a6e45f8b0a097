-- The timeline of the primary (PostgreSQL, Timelines): a promotion increases it. Transaction numbers, sequences and versions of
-- an earlier timeline may mean something else on the current one. Null where it cannot be read.
create function basalt.timeline() returns int language plpgsql set search_path = pg_catalog as $$
begin
  return ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int;
exception when others then
  return null;
end $$;
revoke all on function basalt.timeline() from public;
