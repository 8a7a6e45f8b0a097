import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { CommandResult } from '../../../test/command.ts'
import { library } from '../../../test/fixtures.ts'
import { basaltHere } from '../../../test/terminal.ts'
import { createTestDatabase, type TestDatabase } from '../../../test/test-app.ts'
import { testSecret } from '../../../test/test-config.ts'

let database: TestDatabase
let directory: string
let env: Record<string, string>

beforeAll(async () => {
  database = await createTestDatabase()
  await database.sql(library)
  directory = mkdtempSync(join(tmpdir(), 'basalt-cli-'))
  env = {
    BASALT_DATABASE_URL: database.url,
    BASALT_DATABASE_REQUIRE_RLS: 'false',
    BASALT_AUTH_JWT_SECRET: testSecret,
  }
})
afterAll(async () => {
  rmSync(directory, { recursive: true })
  await database[Symbol.asyncDispose]()
})

function run(...args: string[]): Promise<CommandResult> {
  return basaltHere(args, { directory, env })
}

function done(stdout: string): CommandResult {
  return { code: 0, stdout, stderr: '' }
}

/** Returns a result with one line on standard error and nothing else. */
function failed(code: 1 | 2, message: string): CommandResult {
  return { code, stdout: '', stderr: `basalt: ${message}\n` }
}

describe('basalt sql', () => {
  test('prints rows as a table', async () => {
    expect(await run('sql', 'select author_id, name, born from author order by 1')).toEqual(
      done(
        [
          'author_id  name       born',
          '---------  ---------  ----------',
          '1          Ursula     1929-10-21',
          '2          Stanisław  1921-09-12',
          '3          Octavia',
          '(3 rows)',
          '',
        ].join('\n'),
      ),
    )
  })

  test('prints the result of each statement', async () => {
    const script = `
      create temp table t (a int);
      insert into t values (1), (2);
      update t set a = a + 1;
      select a, a as a from t where a = 2;
      delete from t;`
    expect(await run('sql', script)).toEqual(
      done('CREATE\nINSERT 2\nUPDATE 2\na  a\n-  -\n2  2\n(1 row)\nDELETE 2\n'),
    )
  })

  test('shows control characters visibly, and keeps wide rows whole', async () => {
    const { stdout } = await run(
      'sql',
      `select e'a\\nb\\x1b[31m' as c, repeat('x', 100000) as wide, null as n`,
    )
    expect(stdout).toContain('a↵b\\x1b[31m  xxx')
    expect(stdout.split('\n')[2]).toHaveLength('a↵b\\x1b[31m'.length + 2 + 100_000)
  })

  test('prints with --json the rows of the last statement, with every digit', async () => {
    const { code, stdout } = await run(
      'sql',
      '--json',
      `select 1; select 9223372036854775807 as big, 1.10 as price, null as nothing, '{"a": [1.0]}'::jsonb as doc,
        array['x', null] as list, 'Größe' as "two words"`,
    )
    expect(code).toBe(0)
    expect(stdout.replace(/\s+/g, '')).toBe(
      '[{"big":9223372036854775807,"price":1.10,"nothing":null,"doc":{"a":[1.0]},"list":["x",null],"twowords":"Größe"}]',
    )
    expect(JSON.parse(stdout)[0]).toMatchObject({ 'two words': 'Größe' })
  })

  test('prints with --json an empty list for no rows', async () => {
    for (const statement of ['select 1 where false', 'create temp table t (a int)']) {
      expect(await run('sql', '--json', statement)).toEqual(done('[]\n'))
    }
  })

  test('reads a file, and standard input', async () => {
    writeFileSync(join(directory, 'two.sql'), 'select 1 as one;\nselect 2 as two;\n')
    const expected = done('one\n---\n1\n(1 row)\ntwo\n---\n2\n(1 row)\n')
    expect(await run('sql', '--file', 'two.sql')).toEqual(expected)
    expect(await run('sql', '-f', join(directory, 'two.sql'))).toEqual(expected)
    const input = 'select 1 as one;\nselect 2 as two;\n'
    expect(await basaltHere(['sql'], { directory, env, input })).toEqual(expected)
  })

  test('accepts statements as psql does, from one source', async () => {
    const expected = done('one\n---\n1\n(1 row)\ntwo\n---\n2\n(1 row)\n')
    expect(await run('sql', '-c', 'select 1 as one -- first', '--command', 'select 2 as two')).toEqual(
      expected,
    )
    expect(await run('sql', '-c', 'select 1', 'select 2')).toEqual(
      failed(2, 'sql takes one statement, --command or --file'),
    )
  })

  test('runs all statements or none', async () => {
    const script = 'create table half (a int); insert into half values (1); select 1/0; select 2;'
    expect(await run('sql', script)).toEqual(failed(1, 'division by zero'))
    expect(await database.sql(`select to_regclass('half') as found`)).toEqual([{ found: null }])
  })

  test('keeps the statements that were committed on the way', async () => {
    const script = 'begin; create table kept (a int); commit; begin; drop table kept; select 1/0; commit;'
    expect(await run('sql', script)).toEqual(failed(1, 'division by zero'))
    expect(await database.sql(`select to_regclass('kept') as found`)).toEqual([{ found: 'kept' }])
  })

  test('reports a failure in one line, with the line of the file', async () => {
    writeFileSync(join(directory, 'bad.sql'), 'select 1;\n\nselect nothing\nfrom author;\n')
    expect(await run('sql', '--file', 'bad.sql')).toEqual(
      failed(1, 'bad.sql:3: column "nothing" does not exist'),
    )
    expect(await run('sql', 'insert into author (author_id, name) values (1, $$x$$)')).toEqual(
      failed(
        1,
        'duplicate key value violates unique constraint "author_pkey"; Key (author_id)=(1) already exists.',
      ),
    )
    const many = `do $$ begin raise exception E'one\\n  two\\nthree' using hint = E'four\\nfive'; end $$`
    expect(await run('sql', many)).toEqual(failed(1, 'one two three; four five'))
    expect((await run('sql', 'copy author from stdin')).code).toBe(1)
    expect(await run('sql', 'alter schema basalt rename to elsewhere; select basalt.user_id()')).toEqual(
      failed(1, 'schema "basalt" does not exist; the first start of the server makes it'),
    )
  })

  test('prints notices on standard error', async () => {
    expect(await run('sql', `do $$ begin raise notice E'first\\nsecond'; end $$`)).toEqual({
      code: 0,
      stdout: 'DO\n',
      stderr: 'notice: first↵second\n',
    })
  })
})

describe('basalt sql › warning of relations without policies', () => {
  const warned = (warning: string, stdout = 'CREATE\n') => ({
    code: 0,
    stdout,
    stderr: `warning: ${warning}\n`,
  })

  test('names a new table and the statement that closes it', async () => {
    expect(await run('sql', 'create table "Diary" (id int)')).toEqual(
      warned('"Diary" is open to every signed-in caller: alter table "Diary" enable row level security;'),
    )
    // It is printed once: a table that was open before is not repeated.
    expect(await run('sql', 'select 1 as one')).toEqual(done('one\n---\n1\n(1 row)\n'))
    const [closing = ''] =
      /alter table .*;/.exec((await run('sql', 'drop table "Diary"; create table "Diary" ()')).stderr) ?? []
    expect(await run('sql', closing)).toEqual(done('ALTER\n'))
    expect(await run('sql', 'alter table "Diary" disable row level security')).toEqual(
      warned(
        '"Diary" is open to every signed-in caller: alter table "Diary" enable row level security;',
        'ALTER\n',
      ),
    )
  })

  test('does not change the output of --json and --file', async () => {
    writeFileSync(join(directory, 'open.sql'), 'create table from_file (id int);')
    expect(await run('sql', '--json', '--file', 'open.sql')).toEqual(
      warned(
        'from_file is open to every signed-in caller: alter table from_file enable row level security;',
        '[]\n',
      ),
    )
  })

  test('has one line for many tables', async () => {
    const script = Array.from(
      { length: 14 },
      (_, n) => `create table t${String(n).padStart(2, '0')} ();`,
    ).join('')
    const { stderr } = await run('sql', script)
    expect(stderr).toBe(
      'warning: 14 relations are open to every signed-in caller (t00, t01, t02, t03, t04, t05, t06, t07, t08, ' +
        't09, t10, t11 and 2 more): alter table t00 enable row level security; and likewise for the others\n',
    )
  })

  test('contains the statement that closes a view and a materialized view', async () => {
    await database.sql('create table guarded (id int); alter table guarded enable row level security')
    const { stderr } = await run('sql', 'create view peephole as select * from guarded')
    expect(stderr).toBe(
      'warning: peephole is open to every signed-in caller: alter view peephole set (security_invoker = true);\n',
    )
    expect(await run('sql', 'alter view peephole set (security_invoker = true)')).toEqual(done('ALTER\n'))
    const copied = await run('sql', 'create materialized view copied as select * from guarded')
    expect(copied.stderr).toBe(
      'warning: copied is open to every signed-in caller: revoke all on copied from basalt_authenticated;\n',
    )
    expect(await run('sql', 'revoke all on copied from basalt_authenticated')).toEqual(done('REVOKE\n'))
  })

  test('says with database.require_rls that relations without policies are closed', async () => {
    const closed = { ...env, BASALT_DATABASE_REQUIRE_RLS: 'auto' }
    expect(await basaltHere(['sql', 'create table closed ()'], { directory, env: closed })).toEqual(
      warned(
        'closed is closed to callers until policies guard its rows: alter table closed enable row level security;',
      ),
    )
  })

  test('ignores relations that callers cannot access', async () => {
    for (const statement of [
      'create table locked (); alter table locked enable row level security',
      'create table private_table (); revoke all on private_table from basalt_authenticated',
      'create schema hidden; create table hidden.note ()',
      'create temp table scratch ()',
    ]) {
      expect((await run('sql', statement)).stderr).toBe('')
    }
  })

  test('is printed before the first start, which grants everything, though the role exists for another database', async () => {
    await using own = await createTestDatabase()
    await own.sql('delete from basalt.opened_schemas; revoke all on schema public from basalt_authenticated')
    const open = { ...env, BASALT_DATABASE_URL: own.url }
    expect(await basaltHere(['sql', 'create table early ()'], { directory, env: open })).toEqual(
      warned('early is open to every signed-in caller: alter table early enable row level security;'),
    )
    await own.sql('drop schema basalt cascade')
    expect(await basaltHere(['sql', 'create table earlier ()'], { directory, env: open })).toEqual(
      warned('earlier is open to every signed-in caller: alter table earlier enable row level security;'),
    )
  })
})

describe('basalt sql › dumps of pg_dump', () => {
  const dump = `\\restrict k3y

SET statement_timeout = 0;
SET standard_conforming_strings = off;
SELECT pg_catalog.set_config('search_path', '', false);

CREATE TABLE public.dumped (id integer, body text);

COPY public.dumped (id, body) FROM stdin;
1\tit's; \\\\.
2\t\\N
\\.

ALTER TABLE ONLY public.dumped ADD CONSTRAINT dumped_pkey PRIMARY KEY (id);

\\unrestrict k3y
`
  const write = (text: string): string => {
    const path = join(directory, 'dump.sql')
    writeFileSync(path, text)
    return path
  }

  test('are run with their rows', async () => {
    const result = await run('sql', '--file', write(dump))
    expect([result.code, result.stderr]).toEqual([0, expect.not.stringContaining('failed')])
    expect(await database.sql('select * from dumped order by id')).toEqual([
      { id: 1, body: "it's; \\." },
      { id: 2, body: null },
    ])
    await database.sql('drop table dumped')
  })

  test('have no effect when a row or a statement fails, and report its position', async () => {
    const path = write(dump.replace('2\t', 'two\t'))
    expect(await run('sql', '--file', path)).toEqual(
      failed(1, `${path}:9: invalid input syntax for type integer: "two"; COPY dumped, line 2, column id`),
    )
    const broken = write(dump.replace('PRIMARY KEY (id)', 'PRIMARY KEY (nothing)'))
    expect((await run('sql', '--file', broken)).stderr).toContain(`${broken}:14: column "nothing"`)
    expect(await database.sql("select to_regclass('dumped') as found")).toEqual([{ found: null }])
  })

  test('are rejected with a remedy when they change the database', async () => {
    const result = await run('sql', '--file', write(`create database other;\n\\connect other\n${dump}`))
    expect(result).toEqual(
      failed(
        1,
        'line 2: \\connect is a command of psql: make the dump without --create, or run the file with psql',
      ),
    )
  })
})

describe('basalt types', () => {
  test('fails for a schema that does not exist', async () => {
    env.BASALT_DATABASE_SCHEMAS = 'public,no_such'
    expect(await run('types')).toEqual(failed(1, 'database.schemas: there is no schema "no_such"'))
    delete env.BASALT_DATABASE_SCHEMAS
  })
})
