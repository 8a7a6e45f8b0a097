-- Without pg_temp at the end, PostgreSQL would find types and tables of the session first.
alter function basalt.app_metadata() set search_path = pg_catalog, pg_temp;
alter function basalt.set_app_metadata(uuid, jsonb) set search_path = pg_catalog, pg_temp;
