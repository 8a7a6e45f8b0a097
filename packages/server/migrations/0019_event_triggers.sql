-- Triggers that log changes, whoever makes them: they are on a table while something listens to it (see
-- features/events/outbox/README.md). Arguments: the collection, or an empty text where it is named as the table is; letters
-- for what the table needs; then the columns of its primary key.
--   c  careful: its types are made for JSON one by one, and a row that fails to become JSON does not fail the write
--      (so it is for every table where a row is large: stored, it may be compressed to a 255th)
--   p  a partition, which logs under the name of the table that it is part of
--   m  rows may move to another partition
-- Each works as the owner of the log, with the settings that JSON is made with everywhere.

-- Actions that are listened to: streams learn of a truncation, too.
create or replace view basalt.event_interests (tables, actions) as
select tables, events from basalt.webhooks where enabled
union all
select array[table_name], array['create', 'update', 'delete', 'truncate']
from basalt.realtime_tables
where wanted_until > now() - interval '10 seconds'
union all
select array[table_name], array['create', 'update'] from basalt.embeddings;

-- The collection of a table.
create function basalt.collection_name(schema_name name, relation_name name) returns text
language sql immutable
set search_path = pg_catalog, pg_temp
return case schema_name when 'public' then relation_name::text else schema_name || '.' || relation_name end;
revoke all on function basalt.collection_name(name, name) from public;

-- What a column is in JSON, of a row `t`: the value that the data API would show.
create function basalt.capture_columns(relation oid) returns text
language sql stable
set search_path = pg_catalog, pg_temp
return (
  select string_agg(
    case
      -- It is computed when it is read, which a row in a trigger is not.
      when a.attgenerated = 'v'
        then format('(%s) as %I', pg_get_expr(d.adbin, d.adrelid), a.attname)
      when b.typname = 'hstore' then format('t.%1$I::text as %1$I', a.attname)
      when b.typname in ('vector', 'halfvec') then format('t.%1$I::text::json as %1$I', a.attname)
      when b.typname in ('geography', 'geometry') then format(
        -- GeoJSON (RFC 7946).
        'replace(replace(replace(%3$I.st_asgeojson(%1$s, 15, 0), ''NaN'', ''null''), ''-Infinity'', ''null''),'
          || ' ''Infinity'', ''null'')::json as %2$I',
        case b.typname
          when 'geography' then format('t.%I', a.attname)
          else format(
            'case %2$I.st_geometrytype(t.%1$I) when ''ST_PolyhedralSurface'' then %2$I.st_forcecollection(t.%1$I)'
              || ' else %2$I.st_curvetoline(t.%1$I) end', a.attname, n.nspname)
        end,
        a.attname, n.nspname)
      else format('t.%1$I', a.attname)
    end,
    ', ' order by a.attnum)
  from pg_attribute a
  join pg_type t on t.oid = a.atttypid
  join pg_type b on b.oid = coalesce(nullif(t.typbasetype, 0), t.oid)
  join pg_namespace n on n.oid = b.typnamespace
  left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
  where a.attrelid = relation and a.attnum > 0 and not a.attisdropped
);
revoke all on function basalt.capture_columns(oid) from public;

-- The statement that logs what is in the transition tables; parameters are the action and the collection.
-- `with_values`: false logs keys alone.
create function basalt.capture_statement(relation oid, operation text, names text[], with_values bool) returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  key_json constant text := coalesce(
    (select 'json_build_object(' || string_agg(format('%1$L, t.%1$I', u.name), ', ' order by u.place) || ')'
      from unnest(names) with ordinality u (name, place)),
    '''{}''::json');
  -- Null of a row that is too large: stored values may be compressed.
  whole constant text := case when not with_values then 'null::json'
    else 'case when pg_column_size(t.*) <= 16777216 then (select case when octet_length(w.r::text) <= 16777216 then w.r end'
      || ' from (select row_to_json(s.*) as r from (select ' || basalt.capture_columns(relation) || ') s offset 0) w) end' end;
  members constant text := (
    select string_agg(format('x.r -> %L', u.name), ', ' order by u.place)
    from unnest(names) with ordinality u (name, place)
  );
  record_key constant text := '(select json_build_array(' || members || ')::text from (select ';
  new_key constant text := coalesce(record_key || 'n.r) x (r))', 'null');
  old_key constant text := coalesce(record_key || 'o.r) x (r))', 'null');
  -- Both transition tables are filled row by row: their places match.
  rows constant text := '(select coalesce(c.whole, c.key) as r, case when c.whole is null then true end as is_partial, c.place'
    || ' from (select ' || whole || ' as whole, ' || key_json || ' as key, row_number() over () as place from ';
begin
  if operation = 'UPDATE' then
    return 'insert into basalt.outbox (action, table_name, record_key, old_record_key, record, old_record, is_partial)'
      || ' select $1, $2, ' || new_key || ', nullif(' || old_key || ', ' || new_key || '), n.r,'
      || ' case when coalesce(n.is_partial, o.is_partial) is null then o.r end, coalesce(n.is_partial, o.is_partial)'
      || ' from ' || rows || 'new_rows t offset 0) c) n join ' || rows || 'old_rows t offset 0) c) o using (place) order by place';
  end if;
  return 'insert into basalt.outbox (action, table_name, record_key, record, is_partial)'
    || ' select $1, $2, ' || new_key || ', n.r, n.is_partial from '
    || rows || case operation when 'INSERT' then 'new_rows' else 'old_rows' end || ' t offset 0) c) n order by place';
end
$$;
revoke all on function basalt.capture_statement(oid, text, text[], bool) from public;

create function basalt.capture_inserts() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set timezone = 'UTC' set datestyle = 'ISO, MDY' set intervalstyle = 'iso_8601' set bytea_output = 'hex'
set extra_float_digits = '1'
as $$
declare
  collection constant text := coalesce(nullif(tg_argv[0], ''), basalt.collection_name(tg_table_schema, tg_table_name));
  mark constant text := tg_op || ' ' || tg_relid || ';';
  noted text := coalesce(current_setting('basalt.captured', true), '');
  names text[];
begin
  -- A node of the version before has logged its own write, and a vector of an embedding is no change; what triggers do
  -- behind either runs deeper.
  if pg_trigger_depth() = 1 and current_setting('basalt.captured_write', true) in (
    tg_op || ' ' || tg_table_schema || '.' || tg_table_name,
    'UPSERT ' || tg_table_schema || '.' || tg_table_name
  ) then
    return null;
  end if;
  -- The message of the data API need not log it. A write of a partition by its name is one of another collection.
  if position(mark in noted) = 0 and position('p' in tg_argv[1]) = 0 then
    noted := set_config('basalt.captured', noted || mark, true);
  end if;
  if position('c' in tg_argv[1]) > 0
    or exists (select from new_rows t where pg_column_size(t.*) > 65536)
  then
    names := case when tg_nargs > 2 then tg_argv[2:] else '{}' end;
    begin
      execute basalt.capture_statement(tg_relid, tg_op, names, true) using 'create', collection;
    exception when others then
      begin
        execute basalt.capture_statement(tg_relid, tg_op, names, false) using 'create', collection;
      exception when others then
        insert into basalt.outbox (action, table_name, record, is_partial) values ('create', collection, '{}', true);
      end;
    end;
    return null;
  end if;
  insert into basalt.outbox (action, table_name, record_key, record)
  select 'create', collection,
    case
      when tg_nargs = 3 then '[' || (n.r -> tg_argv[2])::text || ']'
      when tg_nargs > 3 then basalt.record_key(n.r, tg_argv[2:])
    end,
    n.r
  -- Made once, however often it is named.
  from (select row_to_json(t.*) as r from new_rows t offset 0) n;
  return null;
end
$$;
revoke all on function basalt.capture_inserts() from public;

create function basalt.capture_deletes() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set timezone = 'UTC' set datestyle = 'ISO, MDY' set intervalstyle = 'iso_8601' set bytea_output = 'hex'
set extra_float_digits = '1'
as $$
declare
  collection constant text := coalesce(nullif(tg_argv[0], ''), basalt.collection_name(tg_table_schema, tg_table_name));
  mark constant text := tg_op || ' ' || tg_relid || ';';
  noted text := coalesce(current_setting('basalt.captured', true), '');
  names text[];
begin
  -- A node of the version before has logged its own write, and a vector of an embedding is no change; what triggers do
  -- behind either runs deeper.
  if pg_trigger_depth() = 1 and current_setting('basalt.captured_write', true) in (
    tg_op || ' ' || tg_table_schema || '.' || tg_table_name
  ) then
    return null;
  end if;
  -- The message of the data API need not log it. A write of a partition by its name is one of another collection.
  if position(mark in noted) = 0 and position('p' in tg_argv[1]) = 0 then
    noted := set_config('basalt.captured', noted || mark, true);
  end if;
  if position('c' in tg_argv[1]) > 0
    or exists (select from old_rows t where pg_column_size(t.*) > 65536)
  then
    names := case when tg_nargs > 2 then tg_argv[2:] else '{}' end;
    begin
      execute basalt.capture_statement(tg_relid, tg_op, names, true) using 'delete', collection;
    exception when others then
      begin
        execute basalt.capture_statement(tg_relid, tg_op, names, false) using 'delete', collection;
      exception when others then
        insert into basalt.outbox (action, table_name, record, is_partial) values ('delete', collection, '{}', true);
      end;
    end;
    return null;
  end if;
  insert into basalt.outbox (action, table_name, record_key, record)
  select 'delete', collection,
    case
      when tg_nargs = 3 then '[' || (n.r -> tg_argv[2])::text || ']'
      when tg_nargs > 3 then basalt.record_key(n.r, tg_argv[2:])
    end,
    n.r
  -- Made once, however often it is named.
  from (select row_to_json(t.*) as r from old_rows t offset 0) n;
  return null;
end
$$;
revoke all on function basalt.capture_deletes() from public;

-- A plan is made for the first statement and kept for the next ones, however many rows those change.
create function basalt.capture_updates() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set timezone = 'UTC' set datestyle = 'ISO, MDY' set intervalstyle = 'iso_8601' set bytea_output = 'hex'
set extra_float_digits = '1'
set enable_nestloop = 'off'
as $$
declare
  collection constant text := coalesce(nullif(tg_argv[0], ''), basalt.collection_name(tg_table_schema, tg_table_name));
  mark constant text := tg_op || ' ' || tg_relid || ';';
  noted text := coalesce(current_setting('basalt.captured', true), '');
  names text[];
begin
  -- A node of the version before has logged its own write, and a vector of an embedding is no change; what triggers do
  -- behind either runs deeper.
  if pg_trigger_depth() = 1 and current_setting('basalt.captured_write', true) in (
    tg_op || ' ' || tg_table_schema || '.' || tg_table_name,
    'UPSERT ' || tg_table_schema || '.' || tg_table_name
  ) then
    return null;
  end if;
  -- The message of the data API need not log it. A write of a partition by its name is one of another collection.
  if position(mark in noted) = 0 and position('p' in tg_argv[1]) = 0 then
    noted := set_config('basalt.captured', noted || mark, true);
  end if;
  -- A row that moves to another partition may be refused there: then the places do not match.
  if position('m' in tg_argv[1]) > 0 and (select count(*) from new_rows) <> (select count(*) from old_rows) then
    names := case when tg_nargs > 2 then tg_argv[2:] else '{}' end;
    execute basalt.capture_statement(tg_relid, 'DELETE', names, true) using 'delete', collection;
    execute basalt.capture_statement(tg_relid, 'INSERT', names, true) using 'create', collection;
    return null;
  end if;
  if position('c' in tg_argv[1]) > 0
    or exists (select from new_rows t where pg_column_size(t.*) > 65536)
    or exists (select from old_rows t where pg_column_size(t.*) > 65536)
  then
    names := case when tg_nargs > 2 then tg_argv[2:] else '{}' end;
    begin
      execute basalt.capture_statement(tg_relid, tg_op, names, true) using 'update', collection;
    exception when others then
      begin
        execute basalt.capture_statement(tg_relid, tg_op, names, false) using 'update', collection;
      exception when others then
        insert into basalt.outbox (action, table_name, record, is_partial) values ('update', collection, '{}', true);
      end;
    end;
    return null;
  end if;
  insert into basalt.outbox (action, table_name, record_key, old_record_key, record, old_record)
  select 'update', collection, k.key, nullif(k.old_key, k.key), k.r, k.old_r
  from (
    select n.place, n.r, o.r as old_r,
      case
        when tg_nargs = 3 then '[' || (n.r -> tg_argv[2])::text || ']'
        when tg_nargs > 3 then basalt.record_key(n.r, tg_argv[2:])
      end as key,
      case
        when tg_nargs = 3 then '[' || (o.r -> tg_argv[2])::text || ']'
        when tg_nargs > 3 then basalt.record_key(o.r, tg_argv[2:])
      end as old_key
    from (select row_to_json(t.*) as r, row_number() over () as place from new_rows t offset 0) n
    join (select row_to_json(t.*) as r, row_number() over () as place from old_rows t offset 0) o using (place)
    offset 0
  ) k
  order by k.place;
  return null;
end
$$;
revoke all on function basalt.capture_updates() from public;

-- One event for the table, and one for a partition that is truncated by itself: it names that. The triggers of partitions
-- fire after those of their table.
create function basalt.capture_truncates() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  is_partition constant bool := position('p' in tg_argv[1]) > 0;
  collection constant text := coalesce(nullif(tg_argv[0], ''), basalt.collection_name(tg_table_schema, tg_table_name));
begin
  if is_partition and (
    select o.action = 'truncate' and o.record::text = '{}' from basalt.outbox o
    where o.transaction_id = pg_current_xact_id() and o.table_name = collection
    order by o.id desc limit 1
  ) then
    return null;
  end if;
  insert into basalt.outbox (action, table_name, record)
  values ('truncate', collection,
    case when is_partition
      then json_build_object('partition', basalt.collection_name(tg_table_schema, tg_table_name)) else '{}' end);
  return null;
end
$$;
revoke all on function basalt.capture_truncates() from public;
