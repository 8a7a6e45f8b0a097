-- What somebody listens to. Nodes read it again and again, and so do the triggers of `basalt events capture`. Actions of
-- these tables; of all where there are none.
create view basalt.event_interests (tables, actions) as
select tables, events from basalt.webhooks where enabled;

-- Logs what plain SQL changes; the trigger's argument is the name of the collection. Runs as its owner, who may write
-- the log, with the settings that JSON is made with everywhere.
create or replace function basalt.capture_changes() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set timezone = 'UTC' set datestyle = 'ISO, MDY' set intervalstyle = 'iso_8601' set bytea_output = 'hex'
set extra_float_digits = '1'
as $$
declare
  collection constant text := tg_argv[0];
  change constant text := case tg_op when 'INSERT' then 'create' else lower(tg_op) end;
  -- The record r: an hstore goes as text, as in the data API.
  list constant text := (
    select string_agg(
      format(case when t.typname = 'hstore' then 't.%1$I::text as %1$I' else 't.%1$I' end, a.attname),
      ', ' order by a.attnum)
    from pg_attribute a join pg_type t on t.oid = a.atttypid
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
  -- Written by the data API, which has logged it. What its triggers and foreign keys do runs deeper.
  if pg_trigger_depth() = 1 and current_setting('basalt.captured_write', true)
    = tg_op || ' ' || tg_table_schema || '.' || tg_table_name
  then
    return null;
  end if;
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
