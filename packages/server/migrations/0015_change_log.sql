-- What a caller's message appends to the log of changes. It logs in as a role without rights on it, so this is done by a
-- function that works as the owner; so does the trigger's, which sees whole rows.

-- The record lacks columns: the caller who wrote it may not read them, or they are too large for the log.
alter table basalt.outbox add column is_partial bool;

-- The key of a record as a JSON array; null where there is none, or where the record does not hold all of it.
create function basalt.record_key(record json, names text[]) returns text
language sql immutable
set search_path = pg_catalog, pg_temp
return (
  select case when count(record -> u.name) = count(*) then json_agg(record -> u.name order by u.place)::text end
  from unnest(names) with ordinality u (name, place)
  having count(*) > 0
);
revoke all on function basalt.record_key(json, text[]) from public;

-- Those members of a record that its key consists of.
create function basalt.key_members(record json, names text[]) returns json
language sql immutable
set search_path = pg_catalog, pg_temp
return (
  select coalesce(json_object_agg(u.name, record -> u.name order by u.place), '{}')
  from unnest(names) with ordinality u (name, place)
);
revoke all on function basalt.key_members(json, text[]) from public;

-- The columns of a primary key, in their order.
create function basalt.key_columns(relation oid) returns text[]
language sql stable
set search_path = pg_catalog, pg_temp
return array(
  select a.attname::text
  from pg_index i join pg_attribute a on a.attrelid = i.indrelid and a.attnum = any (i.indkey)
  where i.indrelid = relation and i.indisprimary
  order by array_position(i.indkey::int2[], a.attnum)
);
revoke all on function basalt.key_columns(oid) from public;

-- Notes that triggers log what the transaction does to the table: none has to be added or removed before it ends, as
-- both wait for its lock. The call above reads it.
create function basalt.note_captured(relation oid, operation text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  noted constant text := coalesce(current_setting('basalt.captured', true), '');
  mark constant text := operation || ' ' || relation || ';';
begin
  if position(mark in noted) = 0 then
    perform set_config('basalt.captured', noted || mark, true);
  end if;
end
$$;
revoke all on function basalt.note_captured(oid, text) from public;

-- Appends the changes that the write before it has left in a setting, unless triggers have logged them. It reads no row of
-- any table: a caller who reaches it can add events of tables that there are, and learns nothing.
-- `form`: `record` (one record, which was created), `array` (of records, or before and after an update of both), or
-- `upsert` (of both, the old one null where the record was created).
create function basalt.append_changes(
  schema_name text, relation_name text, action text, form text, is_partial bool
) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  relation constant oid := (
    select c.oid
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = schema_name::name and c.relname = relation_name::name and c.relkind in ('r', 'p', 'f')
      and n.nspname not in ('basalt', 'pg_catalog', 'information_schema', 'pg_toast')
  );
  operation constant text := case action when 'create' then 'INSERT' when 'update' then 'UPDATE' when 'delete' then 'DELETE' end;
  is_pair constant bool := form = 'upsert' or action = 'update';
  -- Beyond it an event holds the key alone.
  record_limit constant int := 16 * 1024 * 1024;
  changes constant text := current_setting('basalt.changed_rows', true);
  names text[];
begin
  if relation is null then
    raise undefined_table using message = 'no table of which changes are logged';
  end if;
  if operation is null or form is null or form not in ('record', 'array', 'upsert') then
    raise invalid_parameter_value using message = 'no change of a record';
  end if;
  if position(operation || ' ' || relation || ';' in coalesce(current_setting('basalt.captured', true), '')) > 0 then
    return;
  end if;
  names := basalt.key_columns(relation);
  -- Rows are inserted, and so numbered, in the order in which they are read.
  insert into basalt.outbox (action, table_name, record_key, old_record_key, record, old_record, is_partial)
  select action, case schema_name when 'public' then relation_name else schema_name || '.' || relation_name end,
    k.key, case when k.is_updated then nullif(k.old_key, k.key) end,
    case when k.is_large then basalt.key_members(k.record, names) else k.record end,
    case when k.is_updated and not k.is_large then k.old_record end,
    case when k.is_large or is_partial then true end
  from (
    select c.n, c.record, c.old_record, c.is_updated,
      basalt.record_key(c.record, names) as key, basalt.record_key(c.old_record, names) as old_key,
      octet_length(c.record::text) + coalesce(octet_length(c.old_record::text), 0) > record_limit as is_large
    from (
      select e.n, case when is_pair then e.change -> 'record' else e.change end as record,
        case when is_pair and json_typeof(e.change -> 'oldRecord') <> 'null' then e.change -> 'oldRecord' end as old_record,
        action = 'update' and json_typeof(e.change -> 'oldRecord') <> 'null' as is_updated
      from json_array_elements(
        case when form = 'record' then json_build_array(changes::json) else changes::json end
      ) with ordinality e (change, n)
      offset 0
    ) c
    where form <> 'upsert' or (c.old_record is null) = (action = 'create')
    offset 0
  ) k
  order by k.n;
end
$$;
revoke all on function basalt.append_changes(text, text, text, text, bool) from public;

-- The trigger of `basalt events capture`: logs what the data API writes, too, with whole rows, and notes it for the call
-- of the API. What a node of the version before has logged by itself is left out.
create or replace function basalt.capture_changes() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set timezone = 'UTC' set datestyle = 'ISO, MDY' set intervalstyle = 'iso_8601' set bytea_output = 'hex'
set extra_float_digits = '1'
as $$
declare
  collection constant text := tg_argv[0];
  change constant text := case tg_op when 'INSERT' then 'create' else lower(tg_op) end;
  -- GeoJSON (RFC 7946) of an expression, under a name, with the functions of a schema.
  geojson constant text := 'replace(replace(replace(%3$I.st_asgeojson(%1$s, 15, 0), ''NaN'', ''null''),'
    || ' ''-Infinity'', ''null''), ''Infinity'', ''null'')::json as %2$I';
  -- The record r, with the values that the data API would show.
  list constant text := (
    select string_agg(
      case b.typname
        when 'hstore' then format('t.%1$I::text as %1$I', a.attname)
        when 'vector' then format('t.%1$I::text::json as %1$I', a.attname)
        when 'halfvec' then format('t.%1$I::text::json as %1$I', a.attname)
        when 'geography' then format(geojson, format('t.%I', a.attname), a.attname, n.nspname)
        when 'geometry' then format(geojson, format(
          'case %2$I.st_geometrytype(t.%1$I) when ''ST_PolyhedralSurface'' then %2$I.st_forcecollection(t.%1$I)'
            || ' else %2$I.st_curvetoline(t.%1$I) end', a.attname, n.nspname), a.attname, n.nspname)
        else format('t.%1$I', a.attname)
      end,
      ', ' order by a.attnum)
    from pg_attribute a
    join pg_type t on t.oid = a.atttypid
    join pg_type b on b.oid = coalesce(nullif(t.typbasetype, 0), t.oid)
    join pg_namespace n on n.oid = b.typnamespace
    where a.attrelid = tg_relid and a.attnum > 0 and not a.attisdropped
  );
  -- The rows of a transition table, in their order.
  before_name constant text := '(select (select row_to_json(s.*) from (select ' || list
    || ') s) as r, row_number() over () as place from ';
  after_name constant text := ' t)';
  names constant text[] := array(
    select quote_literal(a.attname)
    from pg_index i join pg_attribute a on a.attrelid = i.indrelid and a.attnum = any (i.indkey)
    where i.indrelid = tg_relid and i.indisprimary
    order by array_position(i.indkey::int2[], a.attnum)
  );
  new_key constant text := case when names = '{}' then 'null'
    else 'json_build_array(n.r->' || array_to_string(names, ', n.r->') || ')::text' end;
  old_key constant text := case when names = '{}' then 'null'
    else 'json_build_array(o.r->' || array_to_string(names, ', o.r->') || ')::text' end;
begin
  -- Written by a node of the version before, which has logged it. What its triggers and foreign keys do runs deeper.
  if pg_trigger_depth() = 1 and current_setting('basalt.captured_write', true) in (
    tg_op || ' ' || tg_table_schema || '.' || tg_table_name,
    -- It fires the triggers of both.
    case when tg_op in ('INSERT', 'UPDATE') then 'UPSERT ' || tg_table_schema || '.' || tg_table_name end
  ) then
    return null;
  end if;
  perform basalt.note_captured(tg_relid, tg_op);
  if not exists (
    select from basalt.event_interests i
    where change = any (i.actions) and (i.tables = '{}' or collection = any (i.tables))
  ) then
    return null;
  end if;
  if tg_op = 'UPDATE' then
    -- Both tables were filled row by row: their places match.
    execute 'insert into basalt.outbox (action, table_name, record_key, old_record_key, record, old_record)'
      || ' select $1, $2, ' || new_key || ', nullif(' || old_key || ', ' || new_key || '), n.r, o.r'
      || ' from ' || before_name || 'new_rows' || after_name || ' n'
      || ' join ' || before_name || 'old_rows' || after_name || ' o using (place)'
      || ' order by place'
    using change, collection;
  else
    execute 'insert into basalt.outbox (action, table_name, record_key, record)'
      || ' select $1, $2, ' || new_key || ', n.r'
      || ' from ' || before_name || case tg_op when 'INSERT' then 'new_rows' else 'old_rows' end || after_name || ' n'
      || ' order by place'
    using change, collection;
  end if;
  return null;
end
$$;
