import { randomBytes } from 'node:crypto'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { basalt, createDirectory, runScript, startServer } from '../server.ts'
import { measure } from './measure.ts'
import type { GrowthOptions } from './section.ts'

/** User id of each caller: a third of the objects, two objects of a bucket, none. */
const callers = {
  big: '11111111-1111-4111-8111-111111111111',
  small: '22222222-2222-4222-8222-222222222222',
  none: '33333333-3333-4333-8333-333333333333',
} as const

type CallerName = keyof typeof callers | 'admin'

const folders = 100

/** Objects of a private bucket in 100 folders, and of a public bucket without folders. */
const buckets = [
  {
    bucket: 'archive',
    isPublic: false,
    template: 'user-own-files',
    name: `'folder-' || lpad((n % ${folders})::text, 2, '0') || '/file-' || lpad(n::text, 8, '0')`,
  },
  {
    bucket: 'photos',
    isPublic: true,
    template: 'public-read-auth-write',
    name: `'photo-' || lpad(n::text, 8, '0')`,
  },
] as const

const ownerOf = (rows: number) => `
  case when n % 3 = 0 then '${callers.big}'::uuid
    when n in (100, ${rows} - 100) then '${callers.small}'::uuid
    else md5((n % greatest(${rows} / 300, 10))::text)::uuid end`

const app = '00000000-0000-0000-0000-000000000000'

/** Fills the buckets of one size, past the triggers. */
function seed(rows: number): string {
  const filled = buckets.map(({ bucket, isPublic, name }, index) => {
    const key = `lpad(to_hex(n), 24, '0') || lpad(to_hex(${rows} * 10 + ${index}), 8, '0')`
    return `
      insert into basalt.buckets (name, is_public) values ('${bucket}-${rows}', ${isPublic});
      insert into basalt.stored_bytes (key, state) select ${key}, 'committed' from generate_series(1, ${rows}) n;
      insert into basalt.objects (bucket, name, size, content_type, user_id, app_id, key)
      select '${bucket}-${rows}', ${name}, 1000, 'text/plain', ${ownerOf(rows)}, '${app}', ${key}
      from generate_series(1, ${rows}) n;`
  })
  return `set session_replication_role = replica; ${filled.join('\n')}`
}

/** Adds, changes and deletes so many objects, each by one statement through the triggers. */
function bulkStatements(rows: number): readonly (readonly [name: string, sql: string])[] {
  const bucket = `photos-${rows}`
  return [
    [
      'insert',
      `
      insert into basalt.stored_bytes (key) select md5('${bucket}' || n) from generate_series(1, ${rows}) n;
      insert into basalt.objects (bucket, name, size, content_type, user_id, app_id, key)
      select '${bucket}', 'zz-' || n, 1000, 'text/plain', ${ownerOf(rows)}, '${app}', md5('${bucket}' || n)
      from generate_series(1, ${rows}) n`,
    ],
    ['update', `update basalt.objects set size = size + 1 where bucket = '${bucket}' and name >= 'zz-'`],
    ['delete', `delete from basalt.objects where bucket = '${bucket}' and name >= 'zz-'`],
  ]
}

interface Case {
  readonly name: string
  /** Path below the storage, for a number of objects. */
  readonly path: (rows: number) => string
}

const cursorAt = (name: string) => Buffer.from(name).toString('base64url')
const middle = (rows: number) => `photo-${String(rows / 2).padStart(8, '0')}`

const cases: readonly Case[] = [
  { name: 'first page', path: (rows) => `archive-${rows}` },
  { name: 'first page, public', path: (rows) => `photos-${rows}` },
  { name: 'folders', path: (rows) => `archive-${rows}?delimiter=/` },
  {
    name: 'folders by cursor',
    path: (rows) => `archive-${rows}?delimiter=/&limit=50&cursor=${cursorAt('folder-42/')}`,
  },
  { name: 'objects of a folder', path: (rows) => `archive-${rows}?delimiter=/&prefix=folder-42/&cursor=` },
  { name: 'page in the middle by cursor', path: (rows) => `photos-${rows}?cursor=${cursorAt(middle(rows))}` },
  { name: 'page in the middle by offset', path: (rows) => `photos-${rows}?offset=${rows / 2}` },
]

/** Prints milliseconds of lists for callers of many objects, of few and of none, and of statements of many objects. */
export async function measureFiles({ sizes, rounds }: GrowthOptions): Promise<void> {
  const directory = createDirectory()
  const secret = { BASALT_AUTH_JWT_SECRET: randomBytes(32).toString('hex') }
  const server = await startServer(directory, { ...secret, BASALT_LOGGING_LEVEL: 'info' })
  const runSql = async (text: string) => {
    writeFileSync(join(directory, 'bench.sql'), text)
    await runScript(directory, basalt, ['sql', '--file', 'bench.sql'])
  }
  const print = (name: string, costs: readonly number[]) =>
    process.stdout.write(`${name.padEnd(44)}${costs.map((cost) => cost.toFixed(1).padStart(10)).join('')}\n`)
  try {
    const admin = (await runScript(directory, basalt, ['admin', 'token'], secret)).trim()
    const tokens = new Map<CallerName, string>([['admin', admin]])
    for (const [name, id] of Object.entries(callers)) {
      const args = ['admin', 'token', '--user', id, '--email', `${name}@example.com`, '--seconds', '36000']
      tokens.set(name as CallerName, (await runScript(directory, basalt, args, secret)).trim())
    }
    for (const rows of sizes) {
      await runSql(seed(rows))
      await runScript(directory, basalt, ['sql', 'vacuum analyze basalt.objects'])
      for (const { bucket, template } of buckets) {
        await fetch(`${server.url}/api/admin/rls/templates/storage-objects/${template}`, {
          method: 'POST',
          headers: { authorization: `Bearer ${admin}`, 'content-type': 'application/json' },
          body: JSON.stringify({ bucket: `${bucket}-${rows}` }),
        })
      }
    }
    process.stdout.write(
      `${'milliseconds, median'.padEnd(44)}${sizes.map((rows) => String(rows).padStart(10)).join('')}\n`,
    )
    for (const { name, path } of cases) {
      for (const [caller, token] of tokens) {
        const costs: number[] = []
        for (const rows of sizes)
          costs.push(await measure(`${server.url}/api/storage/${path(rows)}`, token, rounds))
        print(`${name}, ${caller}`, costs)
      }
    }
    const bulk = [10_000, 100_000].filter((rows) => sizes.includes(rows))
    process.stdout.write(
      `${'seconds of one statement'.padEnd(44)}${bulk.map((rows) => String(rows).padStart(10)).join('')}\n`,
    )
    for (const index of [0, 1, 2]) {
      const costs: number[] = []
      let name = ''
      for (const rows of bulk) {
        const [verb = '', text = ''] = bulkStatements(rows)[index] ?? []
        name = verb
        const startedAt = performance.now()
        await runSql(text)
        costs.push((performance.now() - startedAt) / 1000)
      }
      print(name, costs)
    }
  } finally {
    server.process.kill('SIGTERM')
    await new Promise((resolve) => server.process.once('exit', resolve))
    rmSync(directory, { recursive: true, force: true })
  }
}
