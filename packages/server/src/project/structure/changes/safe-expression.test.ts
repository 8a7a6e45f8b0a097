import { describe, expect, test } from 'vitest'
import { requireSafe, requireType } from './safe-expression.ts'

describe('expressions of developers', () => {
  test.each([
    'basalt.user_id()',
    '(select basalt.user_id()) = owner_id',
    'now()',
    "'x'",
    '0',
    'a > 1 and b in (1,2)',
    'exists (select from members m where m.user_id = basalt.user_id() and m.team_id = project.team_id)',
    'price::numeric(10,2) >= 0',
    'lower(name)',
    'name desc',
    '(lower(name)) text_pattern_ops',
    "'{}'::jsonb",
    'extract(year from at) > 2000',
    'array(select team_id from members)',
    'x = any (array[1,2])',
    "a->>'b' = 'c'",
    '"Weird name" is not null',
    "name ~ '^[a-z]+$'",
    'cast(a as int)',
    't.a in (select m.a from m)',
    'case when a then 1 else 2 end',
    'extract(year from age(at)) > 1',
    'a is distinct from lower(b)',
    'score > .5',
    'exists (select from members m join teams t on t.id = m.team_id where lower(t.name) = lower(project.name))',
    'id in (select max(m.id) from members m where m.at < now() union select min(n.id) from notes n)',
    "tags @> '{a}'",
  ])('admit %s', (text) => {
    expect(requireSafe(text, 'change.check')).toBe(text)
  })

  test.each([
    '1; drop table x',
    "query_to_xml('select 1', true, true, '')",
    "table_to_xml('basalt.users'::regclass, true, true, '')",
    "pg_read_file('/etc/passwd')",
    "lo_import('/etc/passwd')",
    "set_config('role','x',true)",
    "current_setting('x')",
    '0, owner to x',
    '1) , (2',
    "E'\\'' || x",
    '$$x$$',
    '1 -- x',
    '1 /* x */',
    '"pg_read_file"(\'x\')',
    'public.f()',
    'f()',
    "U&\"!0070g_read_file\" uescape '!' ('x')",
    "u&'x'",
    '(select rolname from pg_authid)',
    '(select password_hash from basalt.administrators)',
    "basalt.enqueue('x','{}')",
    'basalt . "administrators"',
    '"basalt".users',
    'exists (with d as (delete from t returning 1) select 1 from d)',
    'public.user_id()',
    'operator(pg_catalog.+)',
    "dblink_exec('x')",
    "nextval('s')",
    "a = '\\' or f()",
    '',
    '  ',
    '(1',
    '1)',
    "a ' b",
    "x'41'",
    "database_to_xml(true,true,'')",
    "ts_stat('select 1')",
    '(pg_sleep)(1)',
    'lower (pg_sleep(1)::text)',
    'information_schema.tables',
    'copy',
    '1::int4 (2)',
    '(select 1)(2)',
    'f\u00a0(1)',
    "('/etc/passwd').lo_import",
    "'/etc/passwd'.lo_import",
    '(\'/etc/passwd\') . "lo_import"',
    '(name).lo_import',
    'names[1].lo_import',
    '1.lo_get',
    "exists (select from concat('/x') f where f.lo_import is null)",
    "exists (select from members m, concat('/x') f where f.lo_import is null)",
    "exists (select from (members m join concat('/x') f on true) where f.lo_import is null)",
    "exists (select from members m left join lateral concat('/x') f on true where f.lo_import is null)",
    "exists (select from members m join members n on m.where = 1, concat('/x') f where f.lo_import is null)",
    "exists (select 1 as distinct from concat('/x') f where f.lo_import is null)",
    "exists (select m.is distinct from concat('/x') f where f.lo_import is null)",
    "exists (select from (select 1) s, (members m join concat('/x') f on true) where f.lo_import is null)",
    "exists (select from cast('/x' as text) f where f.lo_import is null)",
    'exists (select from members m, current_user f where f.lo_import is null)',
    "exists (select from rows from (concat('/x')) f where f.lo_import is null)",
    'exists (select from concat (\'/x\') as "f" where "f".lo_import is null)',
  ])('refuse %s', (text) => {
    expect(() => requireSafe(text, 'change.check')).toThrow(/^change\.check: /)
  })
})

describe('types of developers', () => {
  test.each([
    'int',
    'numeric(10,2)',
    'timestamp with time zone',
    'varchar(20)[]',
    'shop.colour',
    'double precision',
    '"My type"',
    'geometry(point,4326)',
  ])('admit %s', (text) => {
    expect(requireType(text, 'change.type')).toBe(text)
  })

  test.each([
    'int default 1',
    'int check (true)',
    'int, b int',
    'int references x',
    'int primary key',
    'int generated always as (f()) stored',
    'int collate x',
    'setof x',
    'int;',
    'text--',
  ])('refuse %s', (text) => {
    expect(() => requireType(text, 'change.type')).toThrow('change.type: expected the name of a type')
  })
})
