-- Indexes of tables that may hold millions of rows by now. That of a small table is created at once; that of a large one,
-- whose writers would wait for it, is listed here and built concurrently by a node that serves (see
-- features/operations/index-builds).
create table basalt.index_builds (
  ordinal int generated always as identity,
  name text primary key,
  -- The rest of `create index name`.
  definition text not null,
  -- The index that is dropped once this one is there.
  replaces text
);

create function basalt.add_index(table_name name, name name, definition text, replaces name default null) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if pg_relation_size(format('basalt.%I', table_name)::regclass) > 4194304 then
    insert into basalt.index_builds (name, definition, replaces)
    values (add_index.name, format('on basalt.%I ', table_name) || definition, replaces);
    return;
  end if;
  execute format('create index %I on basalt.%I ', add_index.name, table_name) || definition;
  if replaces is not null then
    execute format('drop index if exists basalt.%I', replaces);
  end if;
end
$$;
revoke all on function basalt.add_index(name, name, text, name) from public;

-- Requests of a user and of an API key, and those that failed by their status.
select basalt.add_index('requests', 'requests_user', '(user_id, happened_at, id) where user_id is not null');
select basalt.add_index('requests', 'requests_api_key', '(api_key_id, happened_at, id) where api_key_id is not null');
select basalt.add_index('requests', 'requests_failed', '(status, happened_at, id) where status >= 400');

-- Warnings and errors, which are few.
select basalt.add_index('logs', 'logs_problems', '(logged_at, id) where level >= 40');

-- Jobs of a type, and those that did not complete, the newest first.
select basalt.add_index('jobs', 'jobs_type', '(type, created_at desc, id desc)');
select basalt.add_index('jobs', 'jobs_failed', '(created_at desc, id desc) where state = ''failed''');
select basalt.add_index('jobs', 'jobs_canceled', '(created_at desc, id desc) where state = ''canceled''');

-- Attempts that failed.
select basalt.add_index('webhook_deliveries', 'webhook_deliveries_failed', '(webhook_id, delivered_at desc, id) where not success');
select basalt.add_index('push_deliveries', 'push_deliveries_failed',
  '(created_at desc, id desc) where status in (''failed'', ''invalid_token'')');

-- The history of a record, and what administrators did: row changes are not among the latter, which are few.
select basalt.add_index('audit', 'audit_record', '(record_id, table_name, id) where record_id is not null');
select basalt.add_index('audit', 'audit_actions', '(action, id) where operation is null');

-- Changes of a record.
select basalt.add_index('outbox', 'outbox_record', '(record_key, table_name, id)');
select basalt.add_index('outbox', 'outbox_old_record', '(old_record_key, table_name, id) where old_record_key is not null');
