-- The system schema. Its tables are the login role's alone; policies may call the helpers at the end.
create schema if not exists basalt;
revoke all on schema basalt from public;
grant usage on schema basalt to public;

create table basalt.migrations (
  version int primary key,
  name text not null,
  checksum text not null,
  applied_at timestamptz not null default now()
);

-- Values that all nodes share.
create table basalt.settings (
  key text primary key,
  value jsonb not null,
  updated_at timestamptz not null default now()
);

-- Exposed schemas whose tables were once opened to basalt_authenticated. What the operator revokes afterwards
-- stays revoked.
create table basalt.opened_schemas (
  schema_name text primary key,
  opened_at timestamptz not null default now()
);

-- What policies ask about the caller; null where there is none.
create function basalt.user_id() returns uuid language sql stable parallel safe
  as $$ select nullif(current_setting('basalt.user_id', true), '')::uuid $$;
create function basalt.user_email() returns text language sql stable parallel safe
  as $$ select nullif(current_setting('basalt.user_email', true), '') $$;
create function basalt.email_verified() returns bool language sql stable parallel safe
  as $$ select nullif(current_setting('basalt.email_verified', true), '')::bool $$;
create function basalt.aal() returns text language sql stable parallel safe
  as $$ select nullif(current_setting('basalt.aal', true), '') $$;
create function basalt.is_anonymous() returns bool language sql stable parallel safe
  as $$ select nullif(current_setting('basalt.is_anonymous', true), '')::bool $$;
create function basalt.session_id() returns uuid language sql stable parallel safe
  as $$ select nullif(current_setting('basalt.session_id', true), '')::uuid $$;
-- Named as in the access token.
create function basalt.claims() returns jsonb language sql stable parallel safe
  as $$
    select case when nullif(current_setting('basalt.user_id', true), '') is not null then jsonb_strip_nulls(
      jsonb_build_object(
        'sub', current_setting('basalt.user_id', true),
        'email', current_setting('basalt.user_email', true),
        'email_verified', nullif(current_setting('basalt.email_verified', true), '')::bool,
        'aal', nullif(current_setting('basalt.aal', true), ''),
        'is_anonymous', nullif(current_setting('basalt.is_anonymous', true), '')::bool,
        'sid', nullif(current_setting('basalt.session_id', true), ''))) end
  $$;
grant execute on function basalt.user_id(), basalt.user_email(), basalt.email_verified(), basalt.aal(),
  basalt.is_anonymous(), basalt.session_id(), basalt.claims() to public;

-- How collections are searched, where administrators have said so.
create table basalt.search_settings (
  schema_name text not null,
  table_name text not null,
  -- [{"column", "weight"}]
  attributes jsonb not null default '[]',
  -- [{"column", "order"}]
  custom_ranking jsonb not null default '[]',
  -- [["big apple", "nyc"]]
  synonyms jsonb not null default '[]',
  -- Whether indexes are wanted; null: not decided.
  is_indexed boolean,
  -- Of the last build: what it took, or why it failed.
  built_at timestamptz,
  build_ms int,
  build_error text,
  primary key (schema_name, table_name)
);

-- Imports that were asked for with `Prefer: respond-async`, for some days.
create table basalt.imports (
  id uuid primary key default gen_random_uuid(),
  collection text not null,
  -- The user who began it; null for an administrator, and while auth is off.
  owner text,
  state text not null default 'running' check (state in ('running', 'succeeded', 'failed', 'canceled')),
  rows_read bigint not null,
  rows_written bigint not null default 0,
  failed bigint not null default 0,
  result json,
  error json,
  started_at timestamptz not null default now(),
  finished_at timestamptz,
  -- Renewed by its node, which is lost when it has not done so for a while.
  alive_at timestamptz not null default now()
);
create index imports_started_at on basalt.imports (started_at);

-- A query in web-search syntax in which each term of a group of synonyms finds the others. A term of several words is
-- found as a phrase, and replaced where the query has its words, as a phrase or all of them. Marks stand for the groups
-- until all terms are replaced, so that no term is replaced in what replaced another.
create function basalt.search_query(config regconfig, words text, synonyms jsonb) returns tsquery
  language plpgsql stable parallel safe set search_path = pg_catalog as $$
declare
  sought tsquery := websearch_to_tsquery(config, words);
  any_of tsquery[] := '{}';
  place int;
  term text;
  phrase tsquery;
  together tsquery;
  mark tsquery;
begin
  for place, term in
    select g.place, t.term
    from jsonb_array_elements(synonyms) with ordinality g (terms, place), jsonb_array_elements_text(g.terms) t (term)
    order by array_length(string_to_array(t.term, ' '), 1) desc, t.term
  loop
    phrase := phraseto_tsquery(config, term);
    continue when numnode(phrase) = 0;
    mark := quote_literal('basalt synonyms ' || place)::tsquery;
    any_of[place] := coalesce(any_of[place] || phrase, phrase);
    sought := ts_rewrite(sought, phrase, mark);
    together := plainto_tsquery(config, term);
    if numnode(together) > 1 then
      sought := ts_rewrite(sought, together, mark || together);
    end if;
  end loop;
  for place in select generate_subscripts(any_of, 1) loop
    continue when any_of[place] is null;
    sought := ts_rewrite(sought, quote_literal('basalt synonyms ' || place)::tsquery, any_of[place]);
  end loop;
  return sought;
end $$;
revoke all on function basalt.search_query(regconfig, text, jsonb) from public;

-- The places of the rows that a search index knows for a query. It works as the login role, whose statements are not
-- under the policies of the table: a policy lets no statement of a caller look into such an index. What is returned tells
-- nothing by itself; the caller's own statement reads the rows at these places, under its policies.
create function basalt.search_rows(index regclass, query tsquery) returns tid[]
  language plpgsql stable security definer set search_path = pg_catalog set row_security = off
  -- Statistics know too little of an expression: the whole table would be searched word by word.
  set enable_seqscan = off as $$
declare
  places tid[];
begin
  -- Only of the indexes that are made for it: others could be asked about columns that the caller may not read.
  if (select relname from pg_class where oid = index) not like 'idx\_basalt\_search\_%' then return null; end if;
  execute format(
    'select array_agg(ctid) from %s where (%s) @@ $1',
    (select indrelid::regclass from pg_index where indexrelid = index), pg_get_indexdef(index, 1, false)
  ) into places using query;
  return places;
end $$;
revoke all on function basalt.search_rows(regclass, tsquery) from public;

-- The same for a trigram index: rows with a column that is at least as similar to the words.
create function basalt.similar_rows(index regclass, words text, threshold real) returns tid[]
  language plpgsql stable security definer set search_path = pg_catalog set row_security = off
  set enable_seqscan = off as $$
declare
  places tid[];
  setting text := coalesce(current_setting('pg_trgm.similarity_threshold', true), '0.3');
begin
  if (select relname from pg_class where oid = index) not like 'idx\_basalt\_trigram\_%' then return null; end if;
  perform set_config('pg_trgm.similarity_threshold', threshold::text, true);
  execute format(
    'select array_agg(ctid) from %s where %s',
    (select indrelid::regclass from pg_index where indexrelid = index),
    (select string_agg(
       format('(%s) operator(%I.%%) $1', pg_get_indexdef(index, position, false), n.nspname), ' or ' order by position)
     from pg_index i cross join generate_series(1, i.indnkeyatts) position
     cross join pg_extension e join pg_namespace n on n.oid = e.extnamespace
     where i.indexrelid = index and e.extname = 'pg_trgm')
  ) into places using words;
  perform set_config('pg_trgm.similarity_threshold', setting, true);
  return places;
end $$;
revoke all on function basalt.similar_rows(regclass, text, real) from public;

-- The same for an index of a PostGIS column, whose type is 'geometry' or 'geography': rows whose bounding box is within the
-- distance of that of a shape, given as text. Which of them are near enough is the caller's own statement to say: an error
-- of a function that compares shapes could tell something of a row that is hidden.
create function basalt.nearby_rows(
  relation regclass, attribute name, spatial_type text, shape text, distance double precision
) returns tid[]
  language plpgsql stable security definer set search_path = pg_catalog set row_security = off as $$
declare
  tids tid[];
  postgis name := (select n.nspname from pg_extension e join pg_namespace n on n.oid = e.extnamespace
                   where e.extname = 'postgis');
  -- Of SET ROLE, which current_user does not say here.
  caller name := coalesce(nullif(current_setting('role'), 'none'), session_user);
begin
  if not has_column_privilege(caller, relation, attribute, 'select') then
    raise insufficient_privilege using message = format('permission denied for column %I', attribute);
  end if;
  execute format(
    'select array_agg(ctid) from %1$s where %2$I::%3$I.%4$I operator(%3$I.&&) %3$I.%5$I($1::%3$I.%4$I, $2)',
    relation, attribute, postgis, spatial_type, case spatial_type when 'geography' then '_st_expand' else 'st_expand' end
  ) into tids using shape, distance;
  return tids;
end $$;
revoke all on function basalt.nearby_rows(regclass, name, text, text, double precision) from public;

-- Migrations of the operator's own schema: the files of project.migrations that were applied.
create table basalt.project_migrations (
  name text primary key,
  -- Of the file, to notice that it was changed afterwards.
  checksum text not null,
  -- Of the file, to restore it from: one that the dashboard made where there is no folder is nowhere else.
  content text not null,
  started_at timestamptz not null default clock_timestamp(),
  -- Null of a file without a transaction that was begun and not finished.
  applied_at timestamptz,
  statements_done int not null default 0
);

-- The operator's schema as the migrations left it, one row; what differs now was changed by hand.
create table basalt.project_schema (
  id bool primary key default true check (id),
  -- [{"kind", "name", "definition"}]
  objects jsonb not null,
  recorded_at timestamptz not null default now()
);
