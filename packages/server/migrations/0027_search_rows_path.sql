-- Without pg_temp in the path a session's own types and tables come before those of PostgreSQL.
alter function basalt.search_rows(regclass, tsquery, int, int) set search_path = pg_catalog, pg_temp;
