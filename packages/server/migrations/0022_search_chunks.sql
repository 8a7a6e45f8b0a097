-- Part of what basalt.search_rows(regclass, tsquery) returns, in the order in which the rows are stored: of a common word an
-- index knows half of a table, of which a search reads as many rows as it ranks. Without `most` it returns all that follow.
create function basalt.search_rows(index regclass, query tsquery, skipped int, most int) returns tid[]
  language plpgsql stable security definer set search_path = pg_catalog set row_security = off
  set enable_seqscan = off as $$
declare
  tids tid[];
begin
  -- Only of the indexes that are made for it: others could be asked about columns that the caller may not read.
  if (select relname from pg_class where oid = index) not like 'idx\_basalt\_search\_%' then return null; end if;
  execute format(
    'select array_agg(ctid) from (select ctid from %s where (%s) @@ $1 offset $2 limit $3) t',
    (select indrelid::regclass from pg_index where indexrelid = index), pg_get_indexdef(index, 1, false)
  ) into tids using query, skipped, most;
  return tids;
end $$;
revoke all on function basalt.search_rows(regclass, tsquery, int, int) from public;
