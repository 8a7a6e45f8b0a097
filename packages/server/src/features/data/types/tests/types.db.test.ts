import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { launchCommand, runCommand } from '../../../../../test/server-process.ts'
import { createTestApp, type TestApp } from '../../../../../test/test-app.ts'
import { waitFor } from '../../../../../test/wait-for.ts'
import { systemClock } from '../../../../lib/clock.ts'
import { generateTypes, type TypesFormat } from '../index.ts'

const setup = `
create schema shop;
create type shop.colour as enum ('red', 'it''s "blue"', 'back\\slash');
create type spot as (x int, label text, tags text[]);
create domain positive as int check (value > 0);
create domain positive_or_none as int not null;
create table artist (id int primary key generated always as identity, name text not null);
create table album (
  id bigint primary key, title text not null, artist_id int references artist, price numeric(10, 2) not null default 0,
  released date, made timestamptz not null default now(), doc jsonb, tags text[] not null default '{}', colour shop.colour,
  place spot, rank positive, length_ms int not null, seconds int generated always as (length_ms / 1000) stored,
  cover bytea, code uuid default gen_random_uuid(), during int4range, ratio float8, ok boolean not null default false);
create table shop.line (
  order_no int, no int, album_id bigint not null references album, amount numeric, primary key (order_no, no));
create table "constructor" (id int primary key, "then" text, "it's ""odd""" text not null, "__proto__" int, "größe" int);
create table keyless (a int);
create view plain as select a.id, a.title as name, a.length_ms * 2 as doubled, r.name as artist from album a join artist r on r.id = a.artist_id;
create view outer_joined as select a.id, a.title, r.name as artist from album a left join artist r on r.id = a.artist_id;
create view over_view as select name, artist, doubled from plain;
create view nested as select * from (select a.title, r.name from artist r left join album a on a.artist_id = r.id) x;
create view united as select title from album union all select name from artist;
create view grouped as select title, count(*) as n from album group by rollup (title);
create view counted as select a.artist_id, count(*) as albums, count(a.price) filter (where a.ok) as ok, count(*) over () as groups,
  count(*) + 1 as more from album a left join artist r on r.id = a.artist_id group by a.artist_id;
create view over_counted as select albums, more from counted;
create materialized view stored as select id, title, released from album;
create view "odd view" as select "it's ""odd""" as "to (be} {or\\ not", "then" from "constructor";
create function total(album_id bigint, factor numeric default 1) returns numeric language sql stable as 'select price * factor from album where id = album_id';
create function newest(variadic ids bigint[]) returns setof album language sql stable as 'select * from album where id = any (ids)';
create function split(text) returns text language sql as 'select $1';
create function pair(out a int, out b text) language sql as $$ select 1, 'b' $$;
create function forget(colour shop.colour) returns void language sql as '';
create function over(a int) returns int language sql as 'select a';
create function over(b text) returns text language sql as 'select b';
create function echo_one(a int, b text default '') returns int language sql strict as 'select a';
create function echo_all(ids int[], at positive_or_none) returns setof bigint language sql as 'select 1::bigint';
comment on function echo_all is e'Returns numbers.\n@not_null';
create function first_album(title text, "odd name" int) returns album language sql stable as 'select * from album limit 1';
comment on function first_album is e'@not_null "odd name"\n  @not_null\t\nSee @not_null title.';
create function figures(out total numeric, out name text, out rest int) returns record language sql as $$ select 1, 'a', 2 $$;
comment on function figures(out numeric, out text, out int) is '@not_null total,name';
create function albums() returns bigint language sql as 'select count(*) from album';
comment on function albums is '@count';
create function albums_by_artist(out name text, out albums bigint, out "all of them" bigint, out length bigint) returns setof record
  language sql as 'select title, 1::bigint, 1::bigint, 1::bigint from album';
comment on function albums_by_artist is e'@count albums, "all of them", name\n@not_null';
comment on column artist.name is 'As on the cover. @markdown @label';
comment on column album.title is '@file covers';
comment on column album.length_ms is '@color';
insert into artist (name) values ('Ursula');
insert into album (id, title, artist_id, price, released, doc, tags, colour, place, rank, length_ms, cover, during, ratio)
  values (9007199254740993, 'one', 1, 12345678.10, '2026-01-01', '{"a": [1, null]}', '{x,null}', 'red', '(1,a,{b})', 5, 61000, '\\x00ff', '[1,5)', 1.5);
insert into album (id, title, length_ms) values (2, 'bare', 1);
insert into shop.line values (1, 1, 2, null);
insert into "constructor" values (1, null, 'x', 5, 6);
refresh materialized view stored;
`

const config = { 'database.schemas': 'public,shop', 'auth.enabled': 'false' }
let app: TestApp
let directory: string
let text: string

beforeAll(async () => {
  app = await createTestApp({ setup, config })
  directory = await mkdtemp(join(tmpdir(), 'basalt-types-'))
  text = await generate('client')
})
afterAll(async () => {
  await rm(directory, { recursive: true, force: true })
  await app[Symbol.asyncDispose]()
})

async function generate(format: TypesFormat): Promise<string> {
  const generated = await app.app.database.system.transaction((transaction) =>
    generateTypes(transaction, { schemas: ['public', 'shop'] }, format, systemClock.now()),
  )
  return generated.text
}

const tsc = join(import.meta.dirname, '../../../../../../../node_modules/typescript/bin/tsc')

/** Returns the compiler's output for these files; empty without errors. */
async function compile(files: Readonly<Record<string, string>>): Promise<string> {
  for (const [name, source] of Object.entries(files)) await writeFile(join(directory, name), source)
  const paths = Object.keys(files).map((name) => join(directory, name))
  const options = [
    '--noEmit',
    '--strict',
    '--target',
    'es2024',
    '--module',
    'preserve',
    '--types',
    '',
    '--ignoreConfig',
  ]
  return await promisify(execFile)(process.execPath, [tsc, ...options, ...paths]).then(
    ({ stdout }) => stdout,
    ({ stdout }) => stdout,
  )
}

function relation(name: string): string {
  return text.slice(text.indexOf(`\n    ${name}: {\n`) + 1).split('\n    }\n')[0] ?? ''
}

describe('basalt types', () => {
  test('describes every row of a live database as the API returns it', async () => {
    const names = [...app.app.catalog.current.relations.keys()]
    expect(names).toHaveLength(15)
    const rows = await Promise.all(
      names.map(async (name) => {
        const { json, text: answer } = await app.request(
          'GET',
          `/api/collections/${encodeURIComponent(name)}`,
        )
        expect(json.items.length, name).toBe(name === 'keyless' ? 0 : json.totalItems)
        const items = /"items":(\[.*\])/s.exec(answer)?.[1] ?? ''
        // In a literal each member has to be known, and none may be missing.
        return `const _${rowsOf(name)}: Row<${JSON.stringify(name)}>[] = ${items}`
      }),
    )
    const source = `import type { Row } from './database'\n${rows.join('\n')}\n`
    // As a member of a literal this name would set the prototype.
    const checked = source.replaceAll('"__proto__":', '["__proto__"]:')
    expect(await compile({ 'database.ts': text, 'rows.ts': checked })).toBe('')
  })

  test('marks the columns that may be NULL, those of views by their definitions', async () => {
    expect(relation('album').split('Insert')[0]).toBe(`    album: {
      Row: {
        id: Exact
        /** Name of a file in the bucket \`covers\`. */ title: string
        artist_id: number | null
        price: Exact
        released: string | null
        made: string
        doc: Json | null
        tags: (string | null)[]
        colour: 'red' | 'it\\'s "blue"' | 'back\\\\slash' | null
        place: { x: number | null; label: string | null; tags: (string | null)[] | null } | null
        rank: number | null
        length_ms: number
        seconds: number | null
        cover: string | null
        code: string | null
        during: string | null
        ratio: number | null
        ok: boolean
      }
      `)
    const [server] = await app.sql<{ version: number }>(
      "select current_setting('server_version_num')::int as version",
    )
    // Before PostgreSQL 16 the definition of a view does not say which side of a join may make a column NULL.
    const outerJoined =
      (server?.version ?? 0) >= 160_000
        ? ['id: Exact', 'title: string', 'artist: string | null']
        : ['id: Exact | null', 'title: string | null', 'artist: string | null']
    const views = {
      plain: ['id: Exact', 'name: string', 'doubled: number | null', 'artist: string'],
      outer_joined: outerJoined,
      over_view: ['name: string', 'artist: string', 'doubled: number | null'],
      nested: ['title: string | null', 'name: string | null'],
      united: ['title: string | null'],
      grouped: ['title: string | null', 'n: number'],
      counted: [
        'artist_id: number | null',
        'albums: number',
        'ok: number',
        'groups: number',
        'more: Exact | null',
      ],
      over_counted: ['albums: number', 'more: Exact | null'],
      stored: ['id: Exact', 'title: string', 'released: string | null'],
      "'odd view'": ["'to (be} {or\\\\ not': string", 'then: string | null'],
    }
    for (const [name, members] of Object.entries(views)) {
      const lines = members.map((member) => `        ${member}`).join('\n')
      expect(relation(name), name).toContain(
        `Row: {\n${lines}\n      }\n      Insert: never\n      Update: never\n`,
      )
    }
  })

  test('describes writable columns, keys and relations to expand', () => {
    expect(relation('artist').split('Insert')[1]).toBe(`: {
        /** Markdown. */ name: string
      }
      Update: {
        /** Markdown. */ name?: string
      }
      Key: [number]
      Relations: {
        album: { table: 'album'; many: true } // album.artist_id
      }`)
    const album = relation('album').split('Insert')[1] ?? ''
    expect(album).toContain(
      '        id: ExactInput\n        /** Name of a file in the bucket `covers`. */ title: string\n        artist_id?: number | null\n',
    )
    expect(album).toContain('        price?: ExactInput\n')
    expect(album).not.toContain('seconds')
    expect(album).toContain(`Relations: {
        artist: { table: 'artist'; many: false } // artist_id
        line: { table: 'shop.line'; many: true } // shop.line.album_id
      }`)
    expect(relation("'shop.line'")).toContain('Key: [number, number]')
    expect(relation('keyless')).toContain('Key: []\n      Relations: {}')
  })

  test('has enums and procedures, overloads together', () => {
    expect(text).toContain(`  enums: {
    'shop.colour': 'red' | 'it\\'s "blue"' | 'back\\\\slash'
  }
  procedures: {
`)
    expect(text).toContain(`
    forget: { Args: { colour: 'red' | 'it\\'s "blue"' | 'back\\\\slash' | null }; Returns: undefined }
    newest: { Args: { ids?: (ExactInput | null)[] | null }; Returns: { `)
    expect(
      text,
    ).toContain(`    over: { Args: { a: number | null }; Returns: number | null } | { Args: { b: string | null }; Returns: string | null }
    pair: { Args: Record<string, never>; Returns: { a: number | null; b: string | null } | null }
    total: { Args: { album_id: ExactInput | null; factor?: ExactInput | null }; Returns: Exact | null }
  }`)
  })

  test('has procedures whose arguments and results are never NULL', () => {
    expect(text).toContain('    echo_one: { Args: { a: number; b?: string }; Returns: number | null }\n')
    expect(text).toContain(
      '    echo_all: { Args: { ids: (number | null)[] | null; at: number }; Returns: Exact[] }\n',
    )
    expect(text).toContain(
      "    first_album: { Args: { title: string | null; 'odd name': number }; Returns: { id: Exact; title: string; artist_id: number | null; price: Exact; released: string | null;",
    )
    expect(/first_album: .*$/m.exec(text)?.[0]).toMatch(/ok: boolean \} \}$/)
    expect(text).toContain(
      '    figures: { Args: Record<string, never>; Returns: { total: Exact; name: string; rest: number | null } | null }\n',
    )
  })

  test('has procedures that count', () => {
    expect(text).toContain('    albums: { Args: Record<string, never>; Returns: number }\n')
    expect(text).toContain(
      "    albums_by_artist: { Args: Record<string, never>; Returns: { name: string; albums: number; 'all of them': number; length: Exact | null }[] }\n",
    )
  })

  test('prints the same for the same definitions made in another order', async () => {
    await app.sql(
      'create table later (id int primary key); create table earlier (id int primary key references later)',
    )
    const once = await generate('client')
    await app.sql('drop table later, earlier; create table later (id int primary key)')
    await app.sql('create table earlier (id int primary key references later)')
    expect(await generate('client')).toBe(once)
    await app.sql('drop table later, earlier')
    expect(await generate('client')).toBe(text)
  })

  test('prints the DB of kysely, with values as node-postgres parses them', async () => {
    const kysely = await generate('kysely')
    const client = new pg.Client({ connectionString: app.database.url })
    await client.connect()
    const { rows } = await client
      .query('select * from album order by id desc limit 1')
      .finally(() => client.end())
    const [row] = rows
    expect([typeof row.id, typeof row.price, row.made instanceof Date, row.cover instanceof Buffer]).toEqual([
      'string',
      'string',
      true,
      true,
    ])
    expect(kysely).toContain(
      '    id: ColumnType<string, string | number | bigint, string | number | bigint>\n',
    )
    expect(kysely).toContain('    id: GeneratedAlways<number>\n')
    expect(kysely).toContain('    ok: Generated<boolean>\n')
    const stub = `declare module 'kysely' {
      export type ColumnType<S, I = S, U = S> = { s: S; i: I; u: U }
      export type Generated<S> = ColumnType<S, S | undefined, S>
      export type GeneratedAlways<S> = ColumnType<S, never, never>
    }
    interface Buffer { length: number }`
    expect(await compile({ 'kysely.ts': kysely, 'stub.d.ts': stub })).toBe('')
  })

  test('writes to standard output, to a file, and again when a definition changes', async () => {
    const settings = { ...config, 'database.url': app.database.url }
    const printed = await runCommand(['types'], { config: settings })
    expect(printed).toEqual({ code: 0, signal: null, stdout: text, stderr: '' })
    const wrong = await runCommand(['types', '--watch'], { config: settings })
    expect([wrong.code, wrong.stderr]).toEqual([2, 'basalt: types --watch needs --out\n'])
    const path = join(directory, 'watched.ts')
    const watching = launchCommand(['types', '--watch', '--out', path], { config: settings })
    await waitFor('the file to be written', async () => (await readOrEmpty(path)) === text)
    await app.sql('create table added (id int primary key)')
    await waitFor('the new table to be in it', async () => (await readOrEmpty(path)).includes('    added: {'))
    expect(await watching.stop('SIGINT')).toEqual({ code: 0, signal: null })
    expect(watching.output()).toBe(`wrote ${path}\n`.repeat(2))
    await app.sql('drop table added')
  })
})

function rowsOf(name: string): string {
  return name.replaceAll(/\W/g, '_')
}

async function readOrEmpty(path: string): Promise<string> {
  return await readFile(path, 'utf8').catch(() => '')
}
