import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { parse } from 'smol-toml'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { basaltHere } from '../../../test/terminal.ts'
import { createTestDatabase, type TestDatabase } from '../../../test/test-app.ts'
import { testSecret } from '../../../test/test-config.ts'

let database: TestDatabase
let directory: string

beforeAll(async () => {
  database = await createTestDatabase()
  directory = mkdtempSync(join(tmpdir(), 'basalt-policy-'))
  write('migrations/20260101000000_a.sql', schema)
})
afterAll(async () => {
  rmSync(directory, { recursive: true })
  await database[Symbol.asyncDispose]()
})

const schema = `
create table note (
  id int generated always as identity primary key,
  owner_id uuid not null default basalt.user_id() references basalt.users,
  body text not null,
  secret bool not null default false
);
insert into basalt.users (id) values ('00000000-0000-4000-8000-000000000001');
insert into note (owner_id, body) values ('00000000-0000-4000-8000-000000000001', 'of the migration');
alter table note enable row level security;
create policy read on note for select using (owner_id = basalt.user_id() and (not secret or basalt.aal() = 'aal2'));
create policy add on note for insert with check (owner_id = basalt.user_id() and basalt.email_verified());
create policy change on note for update using (owner_id = basalt.user_id());
create table news (id int primary key, title text, unique (title) deferrable initially deferred);
alter table news enable row level security;
create policy everybody on news for select using (true);
grant select on news to basalt_anonymous;
revoke insert, update, delete on news from basalt_authenticated;
create function whoami() returns text language sql stable as 'select basalt.user_email()';
delete from note;
delete from basalt.users;
`

function write(path: string, content: string): void {
  mkdirSync(dirname(join(directory, path)), { recursive: true })
  writeFileSync(join(directory, path), content)
}

function basalt(...args: string[]) {
  const env = { BASALT_DATABASE_URL: database.url, BASALT_AUTH_JWT_SECRET: testSecret }
  return basaltHere(args, { directory, env })
}

/** Runs the command with only these cases. */
function run(files: Readonly<Record<string, string>>, ...args: string[]) {
  rmSync(join(directory, 'tests'), { recursive: true, force: true })
  for (const [name, content] of Object.entries(files)) write(`tests/policies/${name}`, content)
  return basalt('policy', 'test', ...args)
}

const header = `
setup = """
insert into note (owner_id, body, secret) values (:'alice', 'one', false), (:'alice', 'two', true), (:'bob', 'three', false);
insert into news values (1, 'first');
"""
[users.alice]
email = "alice@example.com"
email_verified = true
[users.bob]
[keys.reader]
user = "alice"
scope = "readonly"
tables = ["note"]
`

function cases(...blocks: string[]): string {
  return header + blocks.map((block) => `\n[[case]]\n${block}\n`).join('')
}

describe('basalt policy test', () => {
  test('runs every verb as users, with claims, aal2, keys and without a token, each on the setup alone', async () => {
    const file = cases(
      'name = "list"\nas = "alice"\nlist = "note"\nrows = [{ id = 2, body = "one", owner_id = ":alice" }]',
      'name = "aal2"\nas = "alice"\naal = "aal2"\nlist = "note"\ncount = 2',
      'name = "filter"\nas = "alice"\naal = "aal2"\nlist = "note"\nfilter = "secret = true"\nrows = [{ body = "two" }]',
      'name = "get"\nas = "alice"\nget = "note"\nid = 2\nrow = { body = "one" }',
      'name = "get of another"\nas = "alice"\nget = "note"\nid = 4\nstatus = 404',
      'name = "create"\nas = "alice"\ncreate = "note"\nvalues = { body = "x" }\nrow = { id = 5, owner_id = ":alice" }',
      'name = "create again"\nas = "alice"\ncreate = "note"\nvalues = { body = "x" }\nrow = { id = 5 }',
      'name = "unverified"\nas = "alice"\nclaims = { email_verified = false }\ncreate = "note"\nvalues = { body = "x" }\nrefused = true',
      'name = "update"\nas = "bob"\nupdate = "note"\nid = 4\nvalues = { body = "y" }\nrow = { body = "y" }',
      'name = "update of another"\nas = "bob"\nupdate = "note"\nid = 2\nvalues = { body = "y" }\nrefused = true',
      'name = "delete"\nas = "alice"\ndelete = "note"\nid = 2\nrefused = true',
      'name = "call"\nas = "alice"\ncall = "whoami"\nresult = "alice@example.com"',
      'name = "key"\nas = "reader"\nlist = "note"\ncount = 1',
      'name = "key may not write"\nas = "reader"\ncreate = "note"\nvalues = { body = "x" }\nstatus = 403',
      'name = "key has no other table"\nas = "reader"\nlist = "news"\nrefused = true',
      'name = "public"\nas = "anonymous"\nlist = "news"\nrows = [{ title = "first" }]',
      'name = "not public"\nas = "anonymous"\nlist = "note"\nstatus = 401',
    )
    const { code, stdout, stderr } = await run(
      { 'a.toml': file, 'b.toml': file, 'ignored.txt': '' },
      '--json',
    )
    const answer = JSON.parse(stdout)
    expect(answer.cases.filter(({ passed }: { passed: boolean }) => !passed)).toEqual([])
    expect({ code, stderr, passed: answer.passed, failed: answer.failed }).toEqual({
      code: 0,
      stderr: '',
      passed: 34,
      failed: 0,
    })
    expect(answer.cases[1]).toEqual({
      file: 'a.toml',
      name: 'aal2',
      request: 'list note as alice (aal2)',
      passed: true,
    })
    // The configured database has none of it, and no other database is left.
    expect(await database.sql("select to_regclass('note') as note")).toEqual([{ note: null }])
    const left = await database.sql(
      "select from pg_database where starts_with(datname, current_database() || '_')",
    )
    expect(left).toEqual([])
  })

  test('exits with 1, and prints the expected and the actual result', async () => {
    const { code, stdout, stderr } = await run({
      'a.toml': cases(
        'name = "fits"\nas = "bob"\nlist = "note"\ncount = 1',
        'name = "too many"\nas = "bob"\nlist = "note"\nrows = []',
        'name = "too few"\nas = "bob"\nlist = "note"\nrows = [{ body = "three" }, { body = "four" }]',
        'name = "count"\nas = "bob"\nlist = "news"\ncount = 2',
        'name = "allowed"\nas = "bob"\ncreate = "note"\nvalues = { body = "x" }',
        'name = "refused"\nas = "bob"\nupdate = "note"\nid = 4\nvalues = { body = "y" }\nrefused = true',
        'name = "status"\nas = "bob"\ndelete = "news"\nid = 1\nstatus = 404',
        'name = "row"\nas = "bob"\nget = "news"\nid = 1\nrow = { title = "second", id = 1 }',
      ),
    })
    expect({ code, stderr }).toEqual({ code: 1, stderr: '' })
    const shown = stdout
      .replaceAll(/"(owner_id|doc_url|requestId)":"[^"]*"/g, '"$1":"…"')
      .replaceAll(/(\d{3}) \{.*"error":"(\w+)".*\}/g, '$1 $2')
    expect(shown).toBe(`a.toml
  ✓ fits
  ✗ too many
      list note as bob
      expected  rows []
      actual    missing [], unexpected [{"id":4,"owner_id":"…","body":"three","secret":false}]
  ✗ too few
      list note as bob
      expected  rows [{"body":"three"},{"body":"four"}]
      actual    missing [{"body":"four"}], unexpected []
  ✗ count
      list news as bob
      expected  2 rows
      actual    200 {"page":1,"perPage":500,"totalItems":1,"totalPages":1,"items":[{"id":1,"title":"first"}]}
  ✗ allowed
      create note as bob
      expected  success
      actual    403 insufficient_permissions
  ✗ refused
      update note 4 as bob
      expected  refused
      actual    200 {"id":4,"owner_id":"…","body":"y","secret":false}
  ✗ status
      delete news 1 as bob
      expected  status 404
      actual    403 insufficient_permissions
  ✗ row
      get news 1 as bob
      expected  row {"title":"second","id":1}
      actual    200 {"id":1,"title":"first"}
1 passed, 7 failed
`)
  })

  test('logs in as requests do: a function that resets its role has no privileges, and cannot run a setup', async () => {
    write(
      'schema/current.sql',
      `create function attempt(command text) returns json language plpgsql as $$
      begin
        set local role none;
        execute command;
        return json_build_object('done', session_user);
      exception when others then return json_build_object('refused', sqlerrm);
      end $$;`,
    )
    const attempt = (command: string, row: string) =>
      `name = '''${command}'''\nas = "alice"\ncall = "attempt"\nvalues = { command = '''${command}''' }\nrow = { ${row} }`
    const result = await run({
      'a.toml': cases(
        attempt('select 1', 'done = "basalt_gateway"'),
        attempt('select from basalt.users', 'refused = "permission denied for table users"'),
        attempt('create table planted ()', 'refused = "permission denied for schema public"'),
        attempt("select basalt.run_setup('x', 'select 1')", 'refused = "insufficient_privilege"'),
        'name = "rows of the setup"\nas = "alice"\nlist = "note"\ncount = 1',
      ),
    })
    rmSync(join(directory, 'schema'), { recursive: true })
    expect([result.code, result.stdout.split('\n').filter((line) => /✗|actual/.test(line))]).toEqual([0, []])
  })

  test('applies schema/current.sql, and shows errors at the end of a transaction', async () => {
    write(
      'schema/current.sql',
      'grant insert on news to basalt_authenticated; create policy add on news for insert with check (true);',
    )
    const again =
      'name = "twice"\nas = "bob"\ncreate = "news"\nvalues = { id = 2, title = "first" }\nstatus = 409'
    expect(await run({ 'a.toml': cases(again) })).toMatchObject({ code: 0 })
    write('schema/current.sql', 'select 1;\nselect nope')
    expect(await run({ 'a.toml': cases(again) })).toEqual({
      code: 1,
      stdout: '',
      stderr: 'basalt: schema/current.sql:2: column "nope" does not exist\n',
    })
    rmSync(join(directory, 'schema'), { recursive: true })
  })

  test('names the line of a setup that fails, and stops there', async () => {
    expect(await run({ 'a.toml': 'setup = """\ninsert into nothing values (1);\n"""' })).toEqual({
      code: 1,
      stdout: '',
      stderr: 'basalt: a.toml: setup, line 1: relation "nothing" does not exist\n',
    })
  })

  const one = 'name = "x"\nas = "alice"\n'
  test.each<[what: string, file: string, message: string]>([
    ['no TOML', 'a = \n', 'a.toml:1: invalid value'],
    [
      'an unknown key',
      cases(`${one}list = "note"\nrow_count = 1`),
      'case.0.row_count is no key of these files',
    ],
    ['a wrong type', cases(`${one}list = "note"\ncount = "1"`), 'case.0.count must be integer'],
    [
      'an unknown user',
      cases('name = "x"\nas = "alic"\nlist = "note"'),
      'case "x": as: "alic" is none of anonymous, alice, bob, reader; did you mean alice?',
    ],
    ['a key of an unknown user', '[keys.k]\nuser = "eve"', 'keys.k.user: "eve" is none of '],
    ['an unknown user in the setup', `setup = "select :'eve'"\n[users.bob]`, 'setup: "eve" is none of bob'],
    ['nothing to do', cases(one), 'case "x": expected one of list, get, create, update, delete, call'],
    ['two things to do', cases(`${one}list = "note"\ncreate = "note"`), 'expected one of'],
    ['no id', cases(`${one}get = "note"`), 'case "x": id is required'],
    ['an id too many', cases(`${one}list = "note"\nid = 1`), 'case "x": id is not for list'],
  ])('rejects a file with %s', async (_what, file, message) => {
    const { code, stdout, stderr } = await run({ 'a.toml': file })
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(message)
  })

  test('prints the first steps where there are no cases', async () => {
    const { code, stderr } = await run({})
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: `basalt: ${join(directory, 'tests/policies')} has no cases: basalt policy scaffold TABLE writes a starter\n`,
    })
  })
})

describe('basalt policy scaffold', () => {
  test('writes passing cases for a table whose rows have an owner, once', async () => {
    await basalt('migrate', 'up')
    await database.sql(`create policy gone on note for delete using (owner_id = basalt.user_id());
      create table "odd name" (id uuid primary key, kind text not null, at date not null, more jsonb not null)`)
    rmSync(join(directory, 'tests'), { recursive: true, force: true })
    const { code, stdout, stderr } = await basalt('policy', 'scaffold', 'note')
    const path = join(directory, 'tests/policies/note.toml')
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: `${path}\n`, stderr: '' })
    expect(await basalt('policy', 'scaffold', 'note')).toEqual({
      code: 1,
      stdout: '',
      stderr: `basalt: ${path} exists\n`,
    })
    // Only verified users may add notes here, which the author of the cases has to add.
    const report = JSON.parse((await basalt('policy', 'test', '--json')).stdout)
    expect(report.cases.filter(({ passed }: { passed: boolean }) => !passed)).toMatchObject([
      { name: 'alice adds a row of her own', expected: 'success' },
    ])

    const quoted = 'a "\\q""\t\r\u0001\u007f'
    const inSql = `"${quoted.replaceAll('"', '""')}"`
    await database.sql(`create table ${inSql} (id int primary key)`)
    const { path: file } = JSON.parse((await basalt('policy', 'scaffold', quoted, '--json')).stdout)
    expect(parse(readFileSync(file, 'utf8'))).toMatchObject({
      setup: `insert into ${inSql} (id) values (1);\n`,
      case: [{ list: quoted }, { list: quoted }, { create: quoted }, { create: quoted }, { list: quoted }],
    })
    rmSync(file)

    const odd = await basalt('policy', 'scaffold', 'odd name', '--json')
    expect(JSON.parse(odd.stdout)).toEqual({ path: join(directory, 'tests/policies/odd_name.toml') })
    expect(readFileSync(join(directory, 'tests/policies/odd_name.toml'), 'utf8')).toContain(
      `insert into "odd name" (id, kind, at, more) values (gen_random_uuid(), 'sample', now(), '{}');`,
    )
    expect(await basalt('policy', 'scaffold', 'notes')).toEqual({
      code: 1,
      stdout: '',
      stderr: 'basalt: collection not found: notes; did you mean note?\n',
    })
  })
})
