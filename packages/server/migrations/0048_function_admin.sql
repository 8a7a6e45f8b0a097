-- Functions of the operator that act as the administrator on behalf of a caller.

-- The origin of such a write has a seventh member, with the function and its reason.
create or replace function basalt.audit_inserts() returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  origin jsonb := coalesce(nullif(current_setting('basalt.origin', true), ''), basalt.audit_origin())::jsonb;
begin
  insert into basalt.audit (actor, action, operation, table_name, record_id, new_values, user_id,
    api_key_id, app_id, address, request_id, detail)
  select origin ->> 0, 'rows.insert', 'INSERT', tg_argv[0],
    case when tg_nargs <= 2 then c.row ->> tg_argv[1] else basalt.audit_key(c.row, tg_argv) end, c.row, origin ->> 1,
    origin ->> 2, (origin ->> 4)::uuid, origin ->> 5, origin ->> 3, coalesce(origin -> 6, '{}')
  from (select to_jsonb(t.*) as row from changed t offset 0) c;
  return null;
end $$;

create or replace function basalt.audit_deletes() returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  origin jsonb := coalesce(nullif(current_setting('basalt.origin', true), ''), basalt.audit_origin())::jsonb;
begin
  insert into basalt.audit (actor, action, operation, table_name, record_id, old_values, user_id,
    api_key_id, app_id, address, request_id, detail)
  select origin ->> 0, 'rows.delete', 'DELETE', tg_argv[0],
    case when tg_nargs <= 2 then c.row ->> tg_argv[1] else basalt.audit_key(c.row, tg_argv) end, c.row, origin ->> 1,
    origin ->> 2, (origin ->> 4)::uuid, origin ->> 5, origin ->> 3, coalesce(origin -> 6, '{}')
  from (select to_jsonb(t.*) as row from changed t offset 0) c;
  return null;
end $$;

create or replace function basalt.audit_row() returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  origin jsonb := coalesce(nullif(current_setting('basalt.origin', true), ''), basalt.audit_origin())::jsonb;
  before jsonb;
  after jsonb;
begin
  if tg_op in ('UPDATE', 'DELETE') then before := to_jsonb(old); end if;
  if tg_op in ('INSERT', 'UPDATE') then after := to_jsonb(new); end if;
  insert into basalt.audit (actor, action, operation, table_name, record_id, old_values, new_values, user_id,
    api_key_id, app_id, address, request_id, detail)
  select origin ->> 0, 'rows.' || lower(tg_op), tg_op, tg_argv[0],
    case
      when tg_nargs <= 2 then coalesce(after, before) ->> tg_argv[1]
      else basalt.audit_key(coalesce(after, before), tg_argv)
    end,
    before, after, origin ->> 1, origin ->> 2, (origin ->> 4)::uuid, origin ->> 5, origin ->> 3, coalesce(origin -> 6, '{}');
  return null;
end $$;
