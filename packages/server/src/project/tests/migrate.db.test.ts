import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { basaltHere } from '../../../test/terminal.ts'
import { createTestDatabase, type TestDatabase } from '../../../test/test-app.ts'
import { testSecret } from '../../../test/test-config.ts'
import { waitFor } from '../../../test/wait-for.ts'

let database: TestDatabase
let directory: string

beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database[Symbol.asyncDispose]())
beforeEach(async () => {
  // The next command opens the schema again, as that of a new database.
  await database.sql(`drop schema public cascade; create schema public;
    truncate basalt.project_migrations, basalt.project_schema, basalt.opened_schemas`)
  directory = mkdtempSync(join(tmpdir(), 'basalt-migrate-'))
})
afterEach(() => rmSync(directory, { recursive: true }))

function migrate(...args: string[]) {
  const env = { BASALT_DATABASE_URL: database.url, BASALT_AUTH_JWT_SECRET: testSecret }
  return basaltHere(['migrate', ...args, '--project-migrations', '.'], { directory, env })
}

function file(time: number, name: string, script: string): string {
  const path = `${20260101000000 + time}_${name}.sql`
  writeFileSync(join(directory, path), script)
  return path
}

async function json(...args: string[]) {
  const { code, stdout, stderr } = await migrate(...args, '--json')
  return { code, stderr, answer: JSON.parse(stdout) }
}

const failed = (message: string) => ({ code: 1, stdout: '', stderr: `basalt: ${message}\n` })

async function tables(): Promise<string[]> {
  const rows = await database.sql<{ relname: string }>(
    "select relname from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'i') order by 1",
  )
  return rows.map(({ relname }) => relname)
}

describe('basalt migrate new', () => {
  test('creates an empty file that follows all others, and prints its path', async () => {
    file(30_000_000_000_000, 'from_the_future', '')
    const first = await migrate('new', 'Add  to-do!')
    expect(first).toMatchObject({ code: 0, stderr: '' })
    expect(basename(first.stdout)).toBe('50260101000001_add_to_do.sql\n')
    const second = await json('new', 'add_todo')
    expect(second).toMatchObject({ code: 0, stderr: '' })
    expect(basename(second.answer.path)).toBe('50260101000002_add_todo.sql')
    expect(readdirSync(directory)).toHaveLength(3)
  })

  test('skips files with another name, and keeps a name of several lines in one comment', async () => {
    writeFileSync(join(directory, 'init.sql'), '')
    const { answer } = await json('new', 'add todo\ndrop table todo')
    expect(basename(answer.path)).toMatch(/^2\d{13}_add_todo_drop_table_todo\.sql$/)
    expect(readFileSync(answer.path, 'utf8')).toBe('-- add todo drop table todo\n')
  })

  test('rejects a name without letters and digits', async () => {
    expect(await migrate('new', ' — ')).toMatchObject({
      code: 2,
      stderr: 'basalt: " — ": expected a name of letters and digits, such as add_todo\n',
    })
  })
})

describe('basalt migrate up', () => {
  test('applies pending migrations in order, each in a transaction, and then nothing', async () => {
    const first = file(1, 'a', 'create table a (id int primary key);\nset search_path = nowhere;')
    const second = file(2, 'b', 'insert into a values (1); create table b (id int references a)')
    const { code, stdout, stderr } = await migrate('up')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout.replaceAll(/\d+ ms/g, 'N ms')).toBe(`applied ${first} (N ms)\napplied ${second} (N ms)\n`)
    expect(await tables()).toEqual(['a', 'a_pkey', 'b'])
    expect(await migrate('up')).toEqual({ code: 0, stdout: 'nothing is pending\n', stderr: '' })
    expect(await json('up')).toEqual({ code: 0, stderr: '', answer: { applied: [] } })
    const grants = await database.sql(
      "select has_table_privilege('basalt_authenticated', 'b', 'insert') as granted",
    )
    expect(grants).toEqual([{ granted: true }])
  })

  test('undoes the whole file of a statement that fails, and names its line', async () => {
    file(1, 'a', 'create table a (id int);')
    const bad = file(2, 'b', 'create table b (id int);\n\ninsert into b\nvalues (1, nope);')
    const { code, stdout, stderr } = await migrate('up')
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: `basalt: ${bad}:4: column "nope" does not exist\n`,
    })
    expect(stdout).toContain('applied 20260101000001_a.sql')
    expect(await tables()).toEqual(['a'])
    file(2, 'b', "do $$ begin raise exception using message = 'not yet', detail = 'why'; end $$")
    expect(await migrate('up')).toEqual(failed(`${bad}:1: not yet; why`))
  })

  test.each([
    ['commit', 'create table a (id int);\ncommit;', ':2: commit'],
    ['begin', 'BEGIN; create table a (id int); end', ':1: begin'],
    ['start transaction', 'start transaction', ':1: start'],
    ['rollback', 'select 1;\nrollback', ':2: rollback'],
  ])('rejects %s, which would end its transaction', async (_what, script, at) => {
    const name = file(1, 'a', script)
    expect(await migrate('up')).toEqual(
      failed(
        `${name}${at} is not for a migration, which is one transaction by itself: remove it, or write ` +
          '"-- basalt: no transaction" above the first statement',
      ),
    )
  })

  test('runs savepoints and functions with bodies of statements, and leaves files without a statement pending', async () => {
    file(1, 'a', 'savepoint s; create table a (id int); rollback to s; release savepoint s')
    file(2, 'b', '-- nothing yet\n')
    file(
      3,
      'c',
      'create function f() returns int begin atomic select 1; select 2; end;\ncreate table c (id int)',
    )
    const { answer, stderr } = await json('up')
    expect(answer.applied).toHaveLength(2)
    expect(stderr).toBe('warning: 20260101000002_b.sql has no statement yet\n')
    expect(await tables()).toEqual(['c'])
    expect(await json('status')).toMatchObject({
      code: 0,
      answer: { pending: [], obstacles: [], empty: ['20260101000002_b.sql'] },
    })
  })

  test('rejects unreadable text, and stores none of it', async () => {
    const name = '20260101000001_a.sql'
    mkdirSync(join(directory, name))
    expect(await migrate('up')).toEqual(
      failed(`cannot read ${name}: EISDIR: illegal operation on a directory, read`),
    )
    rmSync(join(directory, name), { recursive: true })
    const latin = Buffer.from("select 1;\ncomment on schema public is 'caf\xe9'", 'latin1')
    writeFileSync(join(directory, name), latin)
    expect(await migrate('up')).toEqual(failed(`${name}:2: expected UTF-8 text without NUL`))
    file(1, 'a', 'select 1;\n\nselect 2;\0')
    expect(await migrate('up')).toEqual(failed(`${name}:3: expected UTF-8 text without NUL`))
    expect(await database.sql('select from basalt.project_migrations')).toEqual([])
  })

  test.each([
    ['', 1],
    ['-- basalt: no transaction\n', 2],
  ])('fails after %j with the line of a COPY FROM STDIN', async (directive, line) => {
    await database.sql('create table a (id int)')
    const name = file(1, 'a', `${directive}copy a from stdin`)
    expect(await migrate('up')).toEqual(failed(`${name}:${line}: COPY FROM STDIN has no input here`))
    expect(await json('status')).toMatchObject({ answer: { pending: [{ name, isLate: false }] } })
  })

  test('ends at a rejected statement where the URL sets query_timeout', async () => {
    const name = file(1, 'a', 'select 1;\nselect nope')
    const env = {
      BASALT_DATABASE_URL: `${database.url}?query_timeout=60000`,
      BASALT_AUTH_JWT_SECRET: testSecret,
    }
    const result = await basaltHere(['migrate', 'up', '--project-migrations', '.'], { directory, env })
    expect(result).toEqual(failed(`${name}:2: column "nope" does not exist`))
  })

  test('rejects a file with another name, and an unknown directive', async () => {
    writeFileSync(join(directory, 'init.sql'), '')
    expect(await migrate('up')).toEqual(
      failed(
        `${join(directory, 'init.sql')}: expected a name such as 20261122093000_add_todo.sql, which basalt migrate new makes`,
      ),
    )
    rmSync(join(directory, 'init.sql'))
    const name = file(1, 'a', '-- basalt: no transactions\nselect 1')
    expect(await migrate('up')).toEqual(
      failed(`${name}:1: expected "-- basalt: no transaction", not "no transactions"`),
    )
    file(1, 'a', 'select 1;\n-- basalt: no transaction')
    expect(await migrate('up')).toEqual(
      failed(`${name}:2: "-- basalt: no transaction" belongs above the first statement`),
    )
  })

  test('rejects a changed, a missing and a late file with every reason, and never skips one', async () => {
    const changed = file(1, 'a', 'create table a (id int)')
    const missing = file(3, 'c', 'create table c (id int)')
    expect(await migrate('up')).toMatchObject({ code: 0 })
    file(1, 'a', 'create table a (id int8)')
    rmSync(join(directory, missing))
    const late = file(2, 'b', 'create table b (id int)')
    const obstacles = [
      `${changed} was changed after it was applied: restore it, and make the change by another migration`,
      `${missing} was applied and is no file any more: basalt migrate pull restores it`,
      `${late} is older than ${missing}, which is applied: give it a later time, or run it with --allow-late`,
    ]
    expect(await migrate('up')).toEqual(failed(obstacles.join('\n  ')))
    expect(await tables()).toEqual(['a', 'c'])
    const status = await json('status')
    expect(status).toMatchObject({ code: 1, answer: { obstacles, pending: [{ name: late, isLate: true }] } })

    // Line ends of another system are no change.
    file(1, 'a', '\uFEFFcreate table a (id int)')
    file(3, 'c', 'create table c (id int)')
    expect(await migrate('up')).toEqual(failed(obstacles[2] ?? ''))
    expect(await migrate('up', '--allow-late')).toMatchObject({ code: 0 })
    expect(await tables()).toEqual(['a', 'b', 'c'])
    expect((await json('status')).answer).toMatchObject({ obstacles: [], pending: [] })
  })

  test('waits for no lock longer than its timeout, retries, and stops without any effect', async () => {
    const name = file(1, 'a', 'create table b (id int);\nalter table a add column note text')
    // It opens the schema, which locks tables, too.
    await migrate('status')
    await database.sql('create table a (id int)')
    await database.sql(
      "create function public.hold() returns void language sql as 'lock table a; select pg_sleep(3600)'",
    )
    const holding = database.sql('select hold()').catch(() => undefined)
    const pid = await waitFor('the lock', async () => {
      const rows = await database.sql<{ pid: number }>(
        "select pid from pg_locks where relation = 'a'::regclass and mode = 'AccessExclusiveLock' and granted",
      )
      return rows[0]?.pid
    })
    const quick = ['--project-lock-timeout-ms', '20', '--project-lock-attempts', '2']
    const { code, stdout, stderr } = await migrate('up', ...quick)
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    const reason = `${name}:2: canceling statement due to lock timeout`
    expect(stderr).toBe(
      `warning: ${reason}; retrying in 0.25 s\nbasalt: ${reason}; gave up after 2 attempts, nothing of it is done\n`,
    )
    expect(await tables()).toEqual(['a'])

    const waiting = json('up', '--project-lock-timeout-ms', '20', '--project-lock-attempts', '1000')
    await waitFor('an attempt', async () => {
      const rows = await database.sql(
        "select from pg_stat_activity where application_name like 'basalt migrate%'",
      )
      return rows.length > 0
    })
    await database.sql('select pg_terminate_backend($1)', [pid])
    await holding
    expect((await waiting).answer.applied).toMatchObject([{ name }])
    expect(await tables()).toEqual(['a', 'b'])
  })

  test('applies each file once from ten processes at once', async () => {
    for (const number of [1, 2, 3, 4]) file(number, 'x', `create table t${number} (id int)`)
    file(5, 'index', '-- basalt: no transaction\ncreate index concurrently t1_id on t1 (id);')
    const answers = await Promise.all(Array.from({ length: 10 }, () => json('up')))
    expect(answers.map(({ code, stderr }) => ({ code, stderr }))).toEqual(
      answers.map(() => ({ code: 0, stderr: '' })),
    )
    const applied = answers.flatMap(({ answer }) => answer.applied.map(({ name }: { name: string }) => name))
    expect(applied.toSorted()).toEqual(readdirSync(directory).toSorted())
    expect(await tables()).toEqual(['t1', 't1_id', 't2', 't3', 't4'])
    expect((await json('status')).answer.drift).toEqual([])
  })
})

describe('migration without a transaction', () => {
  test('is pending again when its first statement fails', async () => {
    const name = file(1, 'a', '-- basalt: no transaction\n\ncreate index concurrently nope on nothing (id)')
    expect(await migrate('up')).toEqual(failed(`${name}:3: relation "nothing" does not exist`))
    expect((await json('status')).answer).toMatchObject({ obstacles: [], pending: [{ name, isLate: false }] })
  })

  test('names an index that it leaves invalid, and blocks others until it is resolved', async () => {
    await database.sql('create table a (id int); insert into a values (1), (1)')
    const script =
      '-- basalt: no transaction\ncreate table b (id int);\ncreate unique index concurrently a_id on a (id);'
    const name = file(1, 'a', script)
    const advice = `then run basalt migrate resolve ${name} --applied or --pending`
    expect(await migrate('up')).toEqual(
      failed(
        `${name}:3: could not create unique index "a_id"; Key (id)=(1) is duplicated.; the index public.a_id is invalid: ` +
          `drop index concurrently public.a_id; 1 of 2 statements are done: finish or undo them by hand, ${advice}`,
      ),
    )
    const obstacle =
      `${name} stopped after 1 of 2 statements before or in line 3, "create unique index concurrently a_id on a (id)": ` +
      `finish it or undo it by hand, ${advice}`
    expect(await migrate('up')).toEqual(failed(obstacle))
    expect((await json('status')).answer.obstacles).toEqual([obstacle])

    expect(await migrate('resolve', name)).toMatchObject({ code: 2 })
    expect(await migrate('resolve', name, '--applied', '--pending')).toMatchObject({ code: 2 })
    await database.sql('drop index a_id; drop table b; delete from a')
    expect(await migrate('resolve', name, '--pending')).toEqual({
      code: 0,
      stdout: `${name} counts as pending\n`,
      stderr: '',
    })
    expect(await migrate('resolve', name, '--pending')).toEqual(failed(`${name} is not interrupted`))
    expect(await migrate('up')).toMatchObject({ code: 0 })
    expect(await tables()).toEqual(['a', 'a_id', 'b'])
    expect((await json('status')).answer).toMatchObject({ obstacles: [], pending: [] })
  })

  test('is not accepted when it finds an invalid index under its name', async () => {
    await database.sql('create table a (id int); insert into a values (1), (1)')
    await database.sql('create unique index concurrently a_id on a (id)').catch(() => undefined)
    await database.sql('delete from a')
    const name = file(
      1,
      'a',
      '-- basalt: no transaction\ncreate unique index concurrently if not exists a_id on a (id);',
    )
    expect(await migrate('up')).toEqual(
      failed(
        `${name} left an index invalid; the index public.a_id is invalid: drop index concurrently public.a_id; ` +
          `1 of 1 statements are done: finish or undo them by hand, then run basalt migrate resolve ${name} --applied or --pending`,
      ),
    )
    await database.sql('drop index concurrently a_id')
    await migrate('resolve', name, '--pending')
    expect(await migrate('up')).toMatchObject({ code: 0 })
  })
})

describe('basalt migrate status', () => {
  test('names manual changes, through later migrations, until they are accepted', async () => {
    file(1, 'a', 'create table a (id int primary key); alter table a enable row level security;')
    await migrate('up')
    expect((await json('status')).answer).toMatchObject({ pending: [], obstacles: [], drift: [] })
    await database.sql(`
      alter table a add column note text not null default '';
      create policy own on a for select to basalt_authenticated using (id = 1);
      alter table a disable row level security;
      revoke insert on a from basalt_authenticated;
      create function f() returns int language sql as 'select 1'`)
    file(2, 'b', 'create view v as select id from a')
    await migrate('up')
    const { code, stdout } = await migrate('status')
    expect(code).toBe(1)
    expect(stdout).toBe(`2 applied, the newest 20260101000002_b.sql
nothing is pending
changed other than by migrations:
  added column public.a.note: text not null default ''::text
  added function public.f(): CREATE OR REPLACE FUNCTION public.f() RETURNS integer LANGUAGE sql AS $function$select 1$function$
  added grant on function public.f() to public: execute
  changed grant on table public.a to basalt_authenticated: delete, insert, select, update → delete, select, update
  added policy public.a own: permissive for select to basalt_authenticated using ((id = 1))
  changed table public.a: row-level security on → row-level security off
`)
    expect(await migrate('up', '--accept-drift')).toMatchObject({ code: 0 })
    expect(await json('status')).toMatchObject({ code: 0, answer: { drift: [] } })
  })

  test('ignores objects that Basalt creates, and the search path', async () => {
    file(1, 'a', 'create table a (id int primary key); create view v as select * from a')
    await migrate('up')
    await database.sql(`create index idx_basalt_search_a on a (id)`)
    await database.sql(
      `alter database "${new URL(database.url).pathname.slice(1)}" set search_path = basalt, public`,
    )
    expect(await json('status')).toMatchObject({ code: 0, answer: { drift: [] } })
  })
})

describe('basalt migrate pull', () => {
  test('writes applied migrations without a file as they were, and leaves the others unchanged', async () => {
    const kept = file(1, 'a', 'create table a (id int);\n')
    const lost = file(2, 'b', '-- Why.\r\ncreate table b (id int);\r\n')
    await migrate('up')
    rmSync(join(directory, lost))
    expect(await migrate('pull')).toEqual({ code: 0, stdout: `${join(directory, lost)}\n`, stderr: '' })
    expect(readFileSync(join(directory, lost), 'utf8')).toBe('-- Why.\ncreate table b (id int);\n')
    expect(await json('pull')).toEqual({ code: 0, stderr: '', answer: { paths: [] } })
    expect(await migrate('pull')).toEqual({ code: 0, stdout: 'nothing is missing\n', stderr: '' })
    expect(await migrate('up')).toEqual({ code: 0, stdout: 'nothing is pending\n', stderr: '' })
    expect(readdirSync(directory)).toEqual([kept, lost])
  })
})
