import { describe, expect, test } from 'vitest'
import { splitStatements } from '../../lib/sql-statements.ts'
import { weigh } from './weight.ts'

const cases = {
  light: [
    'create table a (id int primary key)',
    'create policy p on a using (true)',
    'create or replace view v as select 1',
    'create function f() returns int language sql as $$ select 1 $$',
    'alter table a enable row level security',
    'alter table a add column b int',
    "alter table a add column b text default 'x'",
    'alter table a add constraint c check (b > 0) not valid',
    'alter table a add foreign key (b) references c (id) NOT VALID',
    'alter table a add primary key using index a_key',
    'alter table a alter column b drop not null',
    'alter table a drop column b',
    "alter type mood add value 'set not null'",
    'drop table a cascade',
    'grant select on a to basalt_anonymous',
  ],
  reads: [
    'create index on a (b)',
    'create unique index concurrently on a (b)',
    'create table c as select * from a',
    'create materialized view m as select * from a',
    'alter table a validate constraint c',
    'alter table a alter column b\n  set not null',
    'alter table a add constraint c check (b > 0)',
    'alter table a add unique (b)',
    'alter table a add column b int references c (id)',
    'alter domain d add check (value > 0)',
  ],
  writes: [
    'alter table a alter column b type bigint',
    'alter table a alter column b set data type bigint',
    'alter table a add column b uuid default gen_random_uuid()',
    'alter table a add column b int generated always as identity',
    'alter table a add b bigserial',
    'alter table a set unlogged',
    'update a set b = 1',
    'do $$ begin end $$',
    'vacuum full a',
  ],
} as const

describe('weight of a statement', () => {
  test.each(Object.entries(cases).flatMap(([weight, texts]) => texts.map((text) => [weight, text] as const)))(
    'is %s for %s',
    (weight, text) => {
      const [statement] = splitStatements(text)
      expect(statement === undefined ? undefined : weigh(statement)).toBe(weight)
    },
  )
})
