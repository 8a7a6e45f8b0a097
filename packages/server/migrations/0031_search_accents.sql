-- Whether searches of a table ignore accents. Null: not decided, so they do.
alter table basalt.search_settings add column ignores_accents boolean;

-- Searches of tables from before this migration stay as they are. A new database has none.
insert into basalt.search_settings (schema_name, table_name, ignores_accents)
select n.nspname, c.relname, false
from pg_class c join pg_namespace n on n.oid = c.relnamespace
where c.relkind in ('r', 'p', 'v', 'm', 'f') and not c.relispartition
  and n.nspname not like 'pg\_%' and n.nspname not in ('information_schema', 'basalt')
  and exists (select from basalt.migrations where applied_at < now())
on conflict (schema_name, table_name) do update set ignores_accents = false;

-- The text without accents, of the same length where it was composed (NFC). Letters of another alphabet that only look accented
-- stay, such as й. Names are qualified rather than found by a setting, which would double the cost.
create function basalt.without_accents(value text) returns text
  language plpgsql immutable strict parallel safe as $$
begin
  -- ASCII, as most texts.
  if pg_catalog.octet_length(value) operator(pg_catalog.=) pg_catalog.length(value) then return value; end if;
  -- All marks but the breve, which й and ў have, too.
  return pg_catalog.translate(
    normalize(
      pg_catalog.regexp_replace(normalize(value, nfd), '[\u0300-\u0305\u0307-\u036f]+', '', 'g'), nfc),
    'ĂăĔĕĞğĬĭŎŏŬŭŁłØøĐđĦħŦŧı', 'AaEeGgIiOoUuLlOoDdHhTti');
end $$;
revoke all on function basalt.without_accents(text) from public;

-- ts_headline of a text whose accents a search ignores. PostgreSQL marks the text without accents, and the marked characters
-- are then those of the text itself. The text has no markup but the marks.
create function basalt.headline(config regconfig, value text, query tsquery, options text) returns text
  language plpgsql stable strict parallel safe set search_path = pg_catalog, pg_temp as $$
declare
  composed text := normalize(value, nfc);
  plain text := basalt.without_accents(composed);
  marked text;
  position int;
begin
  -- A character that has no composed form with its accent.
  if length(plain) <> length(composed) then return ts_headline(config, value, query, options); end if;
  marked := ts_headline(config, plain, query, options);
  if plain = composed then return marked; end if;
  position := strpos(plain, regexp_replace(marked, '</?b>', '', 'g'));
  if position = 0 then return marked; end if;
  return (
    select string_agg(case when part.number % 2 = 0 then '<b>' || part.text || '</b>' else part.text end, '' order by part.number)
    from (
      select number, substr(composed, (position + sum(length(text)) over (order by number) - length(text))::int, length(text)) as text
      from regexp_split_to_table(marked, '</?b>') with ordinality marks (text, number)
    ) part);
end $$;
revoke all on function basalt.headline(regconfig, text, tsquery, text) from public;
