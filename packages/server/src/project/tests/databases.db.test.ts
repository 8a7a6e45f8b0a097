import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { basaltHere } from '../../../test/terminal.ts'
import { createTestDatabase, type TestDatabase } from '../../../test/test-app.ts'
import { testSecret } from '../../../test/test-config.ts'

let database: TestDatabase
let name: string
let directory: string

beforeAll(async () => {
  database = await createTestDatabase()
  name = new URL(database.url).pathname.slice(1)
  directory = mkdtempSync(join(tmpdir(), 'basalt-databases-'))
  write('migrations/20260101000000_a.sql', first)
  await basalt('migrate', 'up')
})
afterAll(async () => {
  rmSync(directory, { recursive: true })
  await basalt('db', 'branch', 'copy', '--delete')
  await database[Symbol.asyncDispose]()
})

const first = `
create table a (id int primary key, body text);
alter table a enable row level security;
create function old() returns int language sql as 'select 1';
`

function write(path: string, content: string): void {
  mkdirSync(dirname(join(directory, path)), { recursive: true })
  writeFileSync(join(directory, path), content)
}

const env = () => ({ BASALT_DATABASE_URL: database.url, BASALT_AUTH_JWT_SECRET: testSecret })

function basalt(...args: string[]) {
  return basaltHere(args, { directory, env: { ...env(), PATH: directory } })
}

/** Runs the work with another session in the database. */
async function withSession<Result>(work: () => Promise<Result>): Promise<Result> {
  const client = new pg.Client({ connectionString: database.url, application_name: 'another program' })
  client.on('error', () => undefined)
  await client.connect()
  try {
    return await work()
  } finally {
    await client.end().catch(() => undefined)
  }
}

describe('basalt migrate check', () => {
  const pending = `
alter table a alter column body type varchar(10);
create index on a (body);
create policy own on a for select using (id = 1);
create table b (id int);
revoke execute on function old() from public;
`

  test('reports locks, rewrites and new privileges of roles, and leaves the database unchanged', async () => {
    write('migrations/20260102000000_b.sql', pending)
    const { code, stdout, stderr } = await basalt('migrate', 'check', '--interrupt', '--json')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const { copy, migrations, access, relations } = JSON.parse(stdout)
    expect([copy, relations]).toEqual(['database', []])
    expect(migrations).toEqual([
      {
        name: '20260102000000_b.sql',
        durationMs: expect.any(Number),
        locks: expect.arrayContaining([
          {
            relation: 'public.a',
            mode: 'AccessExclusiveLock',
            blocks: 'reads and writes',
            heldMs: expect.any(Number),
            line: 2,
          },
        ]),
        rewritten: [
          { relation: 'public.a', bytes: 0 },
          { relation: 'public.a_pkey', bytes: 8192 },
        ],
        breaks: [
          {
            line: 2,
            what: 'changes the type of a.body from text to character varying(10)',
            instead:
              'add a column of type character varying(10) and keep both equal by a trigger, in the next release drop the old one',
          },
        ],
      },
    ])
    const ofRole = (role: string) => access.filter((each: { role: string }) => each.role === role)
    expect(ofRole('basalt_authenticated')).toEqual([
      {
        role: 'basalt_authenticated',
        object: 'function public.old()',
        gained: [],
        lost: ['execute'],
        rowsBefore: 'with those of the caller',
        rowsAfter: 'nothing',
      },
      {
        role: 'basalt_authenticated',
        object: 'table public.a',
        gained: [],
        lost: [],
        rowsBefore: 'no row',
        rowsAfter: 'own (select: (id = 1))',
      },
      {
        role: 'basalt_authenticated',
        object: 'table public.b',
        gained: ['select', 'insert', 'update', 'delete'],
        lost: [],
        rowsBefore: 'nothing',
        rowsAfter: 'every row',
      },
    ])
    const left = await database.sql("select from pg_database where starts_with(datname, $1 || '_')", [name])
    expect([left, await database.sql("select to_regclass('b') as b")]).toEqual([[], [{ b: null }]])
  })

  test('prints the report for people, and works without rows while the database is in use', async () => {
    const { code, stdout } = await withSession(() => basalt('migrate', 'check'))
    expect(code).toBe(0)
    expect(stdout.replaceAll(/\d+ ms/g, 'N ms')).toContain(
      'on an empty database with the applied migrations, because the database is in use: times are those without rows\n' +
        '20260102000000_b.sql (N ms)\n  line 2 blocks reads and writes of public.a for N ms (AccessExclusiveLock)\n',
    )
    expect(stdout).toContain(
      'basalt_authenticated may newly select, insert, update, delete table public.b: every row\n',
    )
  })

  test('warns of changes that break the previous release, with the line and the way in two releases', async () => {
    write(
      'migrations/20260102000000_b.sql',
      `create table fresh (id int, x int);
alter table fresh drop column x;
alter table a add column plain int, add column filled int not null default 1;
alter table a add column needed int not null;
alter table a alter column plain set default 2;
alter table a alter column plain set not null;
alter table a alter column filled drop default;
do $$ begin execute 'alter table a rename body to words'; end $$;
alter table a drop column words;
alter table a rename to z;`,
    )
    const { code, stdout } = await basalt('migrate', 'check', '--interrupt')
    expect(code).toBe(0)
    const warnings = stdout.split('\n').filter((line) => line.startsWith('  warning: '))
    const counts = ', on which the release before still counts; instead: '
    expect(warnings.map((line) => line.split(counts))).toEqual([
      [
        '  warning: line 4 adds a.needed, which has to have a value',
        'add it with a default or without not null, in the next release set not null',
      ],
      [
        '  warning: line 7 refuses rows without a.filled',
        'give it a default or fill it by a trigger, in the next release set not null and drop that',
      ],
      [
        '  warning: line 8 renames a.body to words',
        'add words and keep both equal by a trigger, in the next release drop body',
      ],
      [
        '  warning: line 9 drops a.words',
        'in this release stop using words and let inserts leave it out, in the next one drop it',
      ],
      [
        '  warning: line 10 renames a to z',
        'make a view a on z in the same migration, in the next release drop that',
      ],
    ])
    write('migrations/20260102000000_b.sql', '-- basalt: no transaction\ndrop table a;')
    expect((await basalt('migrate', 'check', '--interrupt')).stdout).toContain('line 2 drops a,')
  })

  test('names every relation whose meaning changes, and the comment to keep it', async () => {
    await database.sql(`
      create table person (id int primary key);
      create table book (id int primary key, writer int, author int references person, owner_id int references person);
      comment on constraint book_author_fkey on book is 'Who wrote it.'`)
    write(
      'migrations/20260102000000_b.sql',
      `alter table book add foreign key (writer) references person;
alter table book add editor int references person;
alter table book rename owner_id to keeper_id;`,
    )
    const file = 'migrations/20260102000000_b.sql'
    const added = readFileSync(join(directory, file), 'utf8')
    const before = await basalt('migrate', 'check', '--interrupt')
    expect([
      before.code,
      before.stdout.split('\n').filter((line) => /\(expand|to keep it/.test(line)),
    ]).toEqual([
      0,
      [
        'warning: person of book (expand, filters) follows writer from then on, not author, which is person_by_author then',
        '  to keep it, add to the migration: comment on constraint "book_author_fkey" on "public"."book" is ' +
          "e'@name person\\n@reverse_name book\\nWho wrote it.';",
        'warning: owner of book (expand, filters) is no relation any more, not owner_id, which is keeper then',
        '  to keep it, add to the migration: comment on constraint "book_owner_id_fkey" on "public"."book" is ' +
          "e'@name owner\\n@reverse_name book_by_owner_id';",
        'warning: book of person (expand, filters) follows book.writer from then on, not book.author, which is book_by_author then',
        '  to keep it, add to the migration: comment on constraint "book_author_fkey" on "public"."book" is ' +
          "e'@name person\\n@reverse_name book\\nWho wrote it.';",
        'warning: book_by_owner_id of person (expand, filters) is no relation any more, not book.owner_id, which is book_by_keeper_id then',
        '  to keep it, add to the migration: comment on constraint "book_owner_id_fkey" on "public"."book" is ' +
          "e'@name owner\\n@reverse_name book_by_owner_id';",
      ],
    ])
    // With the proposed comments nothing changes.
    const comments = [...before.stdout.matchAll(/comment on constraint .*;/g)].map(([statement]) => statement)
    write(file, `${added};\n${comments.join('\n')}`)
    expect((await basalt('migrate', 'check', '--interrupt')).stdout).not.toContain('expand')
    await database.sql('drop table book, person')
  })

  test('fails with the line of the failure, as up would', async () => {
    write('migrations/20260102000000_b.sql', 'select 1;\nselect nope')
    expect(await basalt('migrate', 'check', '--interrupt')).toEqual({
      code: 1,
      stdout: '',
      stderr: 'basalt: 20260102000000_b.sql:2: column "nope" does not exist\n',
    })
    rmSync(join(directory, 'migrations/20260102000000_b.sql'))
    expect(await basalt('migrate', 'check', '--interrupt')).toMatchObject({
      code: 0,
      stdout: 'nothing is pending\n',
    })
  })
})

describe('basalt db branch', () => {
  test('copies the database when it has no other sessions, or after it has ended them', async () => {
    expect(await withSession(() => basalt('db', 'branch', 'copy'))).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(
        /^basalt: the database is in use by .*another program.*: stop them, or end their sessions by --interrupt\n$/,
      ),
    })
    const { code, stdout } = await withSession(() => basalt('db', 'branch', 'copy', '--interrupt', '--json'))
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toEqual({
      branch: 'copy',
      database: `127.0.0.1:${new URL(database.url).port}/${name}_copy`,
      switch: 'BASALT_DATABASE_BRANCH=copy',
    })
    expect(await basalt('db', 'branch')).toMatchObject({ stdout: 'copy\n' })
    expect(await basalt('db', 'branch', 'copy', '--interrupt')).toMatchObject({
      code: 1,
      stderr: 'basalt: the branch copy exists\n',
    })

    const onCopy = (statement: string) => basalt('sql', '--json', statement, '--database-branch', 'copy')
    expect(await onCopy('insert into a values (1)')).toMatchObject({ code: 0 })
    expect(JSON.parse((await onCopy('select id, current_database() as name from a')).stdout)).toEqual([
      { id: 1, name: `${name}_copy` },
    ])
    expect(await database.sql('select from a')).toEqual([])
  })

  test('names the missing statement when the login role may not create databases', async () => {
    await database.sql(
      `do $$ begin create role "no copies" login; exception when duplicate_object then end $$`,
    )
    const url = new URL(database.url)
    url.username = 'no%20copies'
    expect(await basalt('db', 'branch', 'mine', '--database-url', url.href)).toEqual({
      code: 1,
      stdout: '',
      stderr:
        'basalt: permission denied to create database: have an administrator run alter role "no copies" createdb\n',
    })
  })

  test("reports PostgreSQL's message when the login role may create databases, and not drop another role's", async () => {
    const { pathname } = new URL(database.url)
    await database.sql(
      `do $$ begin create role some_copies login createdb; exception when duplicate_object then end $$`,
    )
    const url = new URL(database.url)
    url.username = 'some_copies'
    expect(await basalt('db', 'branch', 'copy', '--delete', '--database-url', url.href)).toEqual({
      code: 1,
      stdout: '',
      stderr: `basalt: must be owner of database ${pathname.slice(1)}_copy\n`,
    })
  })

  test('deletes a copy, and rejects an unknown name', async () => {
    expect(await basalt('db', 'branch', 'copy', '--delete')).toEqual({
      code: 0,
      stdout: 'deleted copy\n',
      stderr: '',
    })
    expect(await basalt('db', 'branch', 'copy', '--delete')).toMatchObject({
      code: 1,
      stderr: 'basalt: there is no branch copy\n',
    })
    expect(await basalt('db', 'branch')).toMatchObject({ stdout: 'no branches\n' })
    expect(await basalt('db', 'branch', 'Not"one')).toMatchObject({ code: 2 })
    expect(await basalt('db', 'branch', 'tmp_a')).toMatchObject({
      code: 2,
      stderr: 'basalt: "tmp_a": tmp_ begins the names of copies that commands drop\n',
    })
  })
})

describe('basalt db diff', () => {
  test('finds no difference in the result of migrations, and says what it does not compare', async () => {
    expect(await basalt('db', 'diff')).toEqual({
      code: 0,
      stdout:
        'no difference from the migrations\nnever compared: rows, owners, roles and memberships, settings of databases and ' +
        'roles, security labels, subscriptions\n',
      stderr: '',
    })
  })

  test('names every different object, and fails on kinds that it does not compare', async () => {
    await database.sql(`
      create type colour as enum ('red', 'blue');
      create table c (id int generated always as identity, hue colour default 'red', unique (hue));
      drop function old();
      create publication p for table a;
      create operator === (leftarg = int, rightarg = int, function = int4eq)`)
    const { code, stdout } = await basalt('db', 'diff', '--json')
    const { changes, unseen } = JSON.parse(stdout)
    expect(code).toBe(1)
    expect(
      changes.map(({ change, kind, name }: Record<string, string>) => `${change} ${kind} ${name}`),
    ).toEqual([
      'added column public.c.hue',
      'added column public.c.id',
      'added constraint public.c c_hue_key',
      'removed function public.old()',
      'removed grant on function public.old() to public',
      'added grant on sequence public.c_id_seq to basalt_authenticated',
      'added grant on table public.c to basalt_authenticated',
      'added sequence public.c_id_seq',
      'added table public.c',
      'added type public.colour',
    ])
    expect(unseen).toEqual([
      { kind: 'operator', name: '===' },
      { kind: 'publication', name: 'p' },
    ])
    await database.sql('drop publication p; drop operator === (int, int)')
  })
})

describe('basalt db dump', () => {
  test("runs a pg_dump of the database's version or later", async () => {
    expect(await basalt('db', 'dump')).toEqual({
      code: 1,
      stdout: '',
      stderr:
        "basalt: pg_dump is not installed: install PostgreSQL's client programs, or name it by --pg-dump\n",
    })
    const program = (version: number) => {
      write(
        'pg_dump',
        `#!/bin/sh\n[ "$1" = --version ] && echo 'pg_dump (PostgreSQL) ${version}.4' || echo "$@"\n`,
      )
      chmodSync(join(directory, 'pg_dump'), 0o755)
    }
    program(14)
    expect((await basalt('db', 'dump')).stderr).toMatch(
      /^basalt: pg_dump is of PostgreSQL 14, the database is \d+: install /,
    )
    program(99)
    const args = `--dbname ${database.url} --no-owner --exclude-schema=basalt`
    expect(await basalt('db', 'dump')).toEqual({ code: 0, stdout: `${args} --schema-only\n`, stderr: '' })
    expect(await basalt('db', 'dump', '--rows')).toMatchObject({ code: 0, stdout: `${args}\n` })
  })
})

describe('basalt db seed and reset', () => {
  const marked = ['--project-development', 'true']

  test('reject a database without the mark for development, and an address that other machines reach', async () => {
    for (const command of ['seed', 'reset']) {
      for (const flags of [[], [...marked, '--server-public-base-url', 'https://app.example']]) {
        expect(await basalt('db', command, ...flags)).toEqual({
          code: 1,
          stdout: '',
          stderr:
            `basalt: basalt db ${command} is for development: the embedded database, or an external one with ` +
            'project.development = true, and an address that only this machine reaches\n',
        })
      }
    }
  })

  test('run the seed in one transaction, or none of it', async () => {
    write('seed.sql', "insert into a values (1, 'x');\ninsert into a values (1, 'y');")
    expect(await basalt('db', 'seed', ...marked)).toEqual({
      code: 1,
      stdout: '',
      stderr:
        'basalt: seed.sql:2: duplicate key value violates unique constraint "a_pkey"; Key (id)=(1) already exists.\n',
    })
    expect(await database.sql('select from a')).toEqual([])
    write('seed.sql', "insert into a values (1, 'x') on conflict do nothing")
    expect(await basalt('db', 'seed', ...marked)).toEqual({
      code: 0,
      stdout: '1 statements of seed.sql\n',
      stderr: '',
    })
    write('demo.sql', 'delete from a; delete from a;')
    expect(await basalt('db', 'seed', '--project-seed', 'demo.sql', ...marked)).toEqual({
      code: 0,
      stdout: '2 statements of demo.sql\n',
      stderr: '',
    })
  })

  test('recreate the database, unless a server runs on it', async () => {
    const server = new pg.Client({ connectionString: database.url, application_name: 'basalt start' })
    await server.connect()
    expect(await basalt('db', 'reset', ...marked)).toMatchObject({
      code: 1,
      stderr: 'basalt: a server runs on the database: stop it first\n',
    })
    await server.end()
    await database.sql("insert into a values (2); insert into basalt.users (email) values ('a@example.com')")
    expect(await basalt('db', 'reset', ...marked)).toEqual({
      code: 0,
      stdout: '1 migrations, 1 statements of seed.sql\n',
      stderr: '',
    })
    expect(
      await database.sql(
        "select id, to_regclass('c') as c, (select count(*)::int from basalt.users) as users from a",
      ),
    ).toEqual([{ id: 1, c: null, users: 0 }])
    expect(await basalt('db', 'diff')).toMatchObject({ code: 0 })
  })
})
