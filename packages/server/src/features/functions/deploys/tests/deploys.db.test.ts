import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { openTransaction } from '../../../../../test/account-nodes.ts'
import { alice } from '../../../../../test/fixtures.ts'
import { functionArchive, functionFile } from '../../../../../test/function-deploys.ts'
import {
  createTestApp,
  createTestDatabase,
  envelope,
  type TestApp,
  type TestDatabase,
  userToken,
} from '../../../../../test/test-app.ts'
import { waitFor } from '../../../../../test/wait-for.ts'
import { tarEnd, tarHeader } from '../../../../lib/tar.ts'

let database: TestDatabase
let app: TestApp
let second: TestApp
const directories: string[] = []
const timestamp = expect.stringMatching(/^\d{4}-\d\d-\d\dT/)
const unknownHash = 'ab'.repeat(32)

/** Starts a node with a data directory of its own, or with that of another node. */
async function openNode(directory = mkdtempSync(join(tmpdir(), 'basalt-functions-'))): Promise<TestApp> {
  if (!directories.includes(directory)) directories.push(directory)
  return await createTestApp({ database, config: { 'server.data_dir': directory } })
}

beforeAll(async () => {
  database = await createTestDatabase()
  app = await openNode()
  second = await openNode()
})
afterAll(async () => {
  await second[Symbol.asyncDispose]()
  await app[Symbol.asyncDispose]()
  for (const directory of directories) rmSync(directory, { recursive: true, force: true })
  await database[Symbol.asyncDispose]()
})
beforeEach(() =>
  database.sql(`
    update basalt.function_live set hash = null;
    delete from basalt.function_deploys;
    delete from basalt.function_blobs;
    delete from basalt.audit`),
)

async function request(method: string, path: string, body?: unknown, headers?: Record<string, string>) {
  const token = await app.adminToken()
  return await app.request(method, `/api/admin/functions${path}`, {
    token,
    body,
    ...(headers === undefined ? {} : { headers }),
  })
}

async function send(contents: readonly string[]) {
  const body = functionArchive(contents).toString('latin1')
  return await request('POST', '/files', body, { 'content-type': 'application/x-tar' })
}

/** Creates a deploy of files by path, and sends their contents. @returns its hash */
async function prepare(files: Readonly<Record<string, string>>): Promise<string> {
  const manifest = Object.entries(files).map(([path, content]) => functionFile(content, path))
  const { json } = await request('POST', '/deploys', { files: manifest })
  await send(Object.values(files))
  return json.deploy.hash
}

async function deploy(files: Readonly<Record<string, string>>): Promise<string> {
  const hash = await prepare(files)
  const { status, json } = await request('POST', `/deploys/${hash}/promote`)
  expect([status, json.isLive]).toEqual([200, true])
  return hash
}

async function liveHash(): Promise<unknown> {
  return (await database.sql('select hash from basalt.function_live'))[0]?.hash
}

const folderOf = (directory: string | undefined, hash: string) => join(directory ?? '', 'functions', hash)

/** Waits until a node has the folder. */
async function waitForFolder(directory: string | undefined, hash: string): Promise<string> {
  const folder = folderOf(directory, hash)
  await waitFor(`the folder of ${hash}`, () => existsSync(folder))
  return folder
}

describe('deploys of functions', () => {
  test('are created, completed, promoted and written to every node', async () => {
    const files = [
      functionFile('export default 1', 'functions/a.ts'),
      functionFile('export default 1', 'functions/sub/b.ts'),
      functionFile('', 'package.json'),
    ]
    const created = await request('POST', '/deploys', { files })
    const hash: string = created.json.deploy.hash
    const shown = { hash, fileCount: 3, totalBytes: 32, createdAt: timestamp }
    expect([created.status, created.json]).toEqual([
      201,
      {
        deploy: { ...shown, isLive: false },
        missing: [...new Set(files.map(({ sha256 }) => sha256))].toSorted(),
      },
    ])
    expect(envelope(await request('POST', `/deploys/${hash}/promote`))).toEqual({
      code: 409,
      error: 'function_deploy_incomplete',
      message: 'the deploy lacks 2 of its files',
    })
    const sent = await send(['export default 1', ''])
    expect([sent.status, sent.json]).toEqual([200, { files: 2 }])
    const again = await request('POST', '/deploys', { files: files.toReversed() })
    expect([again.json.deploy.hash, again.json.missing]).toEqual([hash, []])
    const promoted = await request('POST', `/deploys/${hash}/promote`)
    expect([promoted.status, promoted.json]).toEqual([200, { ...shown, isLive: true }])
    expect((await request('GET', '/deploys')).json).toEqual({ items: [{ ...shown, isLive: true }], count: 1 })
    for (const directory of directories.slice(0, 2)) {
      const folder = await waitForFolder(directory, hash)
      expect(readdirSync(folder, { recursive: true }).toSorted()).toEqual([
        'functions',
        'functions/a.ts',
        'functions/sub',
        'functions/sub/b.ts',
        'package.json',
      ])
      expect(readFileSync(join(folder, 'functions/a.ts'), 'utf8')).toBe('export default 1')
      expect(statSync(join(folder, 'functions/a.ts')).mode & 0o777).toBe(0o400)
      expect(readdirSync(join(directory, 'functions'))).toContain(hash)
    }
    expect(
      await database.sql(
        `select action, target, detail from basalt.audit where action like 'functions.%' order by id`,
      ),
    ).toEqual([
      { action: 'functions.create_deploy', target: hash, detail: { files: 3 } },
      { action: 'functions.create_deploy', target: hash, detail: { files: 3 } },
      { action: 'functions.promote', target: hash, detail: { previous: null } },
    ])
  })

  test.each([
    [[], 'there are none'],
    [
      [functionFile('x', '../x')],
      'files.0.path must be a relative path without backslashes and control characters',
    ],
    [
      [functionFile('x', '/etc/x')],
      'files.0.path must be a relative path without backslashes and control characters',
    ],
    [
      [functionFile('x', 'a/./x')],
      'files.0.path must be a relative path without backslashes and control characters',
    ],
    [
      [functionFile('x', 'a//x')],
      'files.0.path must be a relative path without backslashes and control characters',
    ],
    [
      [functionFile('x', 'a\\x')],
      'files.0.path must be a relative path without backslashes and control characters',
    ],
    [
      [functionFile('x', 'a\n')],
      'files.0.path must be a relative path without backslashes and control characters',
    ],
    [
      [functionFile('x', 'a'.repeat(501))],
      'files.0.path must be a relative path without backslashes and control characters',
    ],
    [[functionFile('x', 'a'), functionFile('y', 'a')], 'files.1.path is not unique'],
    [[functionFile('x', 'a/b/c'), functionFile('y', 'a/b')], 'files.0.path is below another file'],
    [[{ ...functionFile('x'), sha256: 'AB'.repeat(32) }], 'files.0.sha256 must be 64 hexadecimal digits'],
    [[{ ...functionFile('x'), size: -1 }], 'files.0.size must be at least 0'],
  ])('refuse the files %j', async (files, problem) => {
    expect(envelope(await request('POST', '/deploys', { files }))).toEqual({
      code: 400,
      error: 'invalid_function_files',
      message: `invalid files: ${problem}`,
    })
  })

  test('refuse more than 50 MB, other bodies, unknown hashes and broken archives', async () => {
    const large = { ...functionFile('x'), size: 50_000_001 }
    expect(envelope(await request('POST', '/deploys', { files: [large] }))).toEqual({
      code: 413,
      error: 'function_deploy_too_large',
      message: 'the files of a deploy have at most 50000000 bytes',
    })
    expect((await request('POST', '/deploys', { files: [{ path: 'a' }] })).status).toBe(400)
    expect(envelope(await request('POST', `/deploys/${unknownHash}/promote`))).toEqual({
      code: 404,
      error: 'function_deploy_not_found',
      message: 'deploy not found',
    })
    expect(envelope(await request('POST', '/deploys/AB/promote'))).toMatchObject({
      code: 400,
      error: 'invalid_deploy_hash',
    })
    const tar = { 'content-type': 'application/x-tar' }
    expect(envelope(await request('POST', '/files', 'x'.repeat(600), tar))).toMatchObject({
      code: 400,
      error: 'invalid_function_archive',
    })
    const folder = Buffer.concat([tarHeader({ path: 'a', kind: 'directory', size: 0 }, new Date(0)), tarEnd])
    expect(envelope(await request('POST', '/files', folder.toString('latin1'), tar))).toEqual({
      code: 400,
      error: 'invalid_function_archive',
      message: 'invalid archive: it contains a directory',
    })
  })

  test('are closed to users', async () => {
    const token = userToken({ sub: alice })
    for (const [method, path] of [
      ['GET', '/deploys'],
      ['POST', '/deploys'],
      ['POST', '/files'],
      ['POST', '/deploys/rollback'],
      ['POST', `/deploys/${unknownHash}/promote`],
    ] as const) {
      expect((await app.request(method, `/api/admin/functions${path}`, { token })).status).toBe(401)
    }
  })

  test('go back one by one, and no further than the first', async () => {
    const [one, two, three] = [
      await deploy({ 'functions/a.ts': '1' }),
      await deploy({ 'functions/a.ts': '2' }),
      await deploy({ 'functions/a.ts': '3' }),
    ]
    for (const expected of [two, one]) {
      const { status, json } = await request('POST', '/deploys/rollback')
      expect([status, json.hash, json.isLive]).toEqual([200, expected, true])
    }
    expect(envelope(await request('POST', '/deploys/rollback'))).toEqual({
      code: 409,
      error: 'no_earlier_function_deploy',
      message: 'there is no earlier deploy',
    })
    expect((await request('POST', `/deploys/${three}/promote`)).json.isLive).toBe(true)
    expect((await request('POST', `/deploys/${three}/promote`)).json.isLive).toBe(true)
    expect((await request('POST', '/deploys/rollback')).json.hash).toBe(one)
  })

  test('have one live deploy after ten promotions at once on two nodes', async () => {
    const hashes = [await prepare({ 'functions/a.ts': 'a' }), await prepare({ 'functions/a.ts': 'b' })]
    const token = await app.adminToken()
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        (index % 2 === 0 ? app : second).request(
          'POST',
          `/api/admin/functions/deploys/${hashes[index % 3 === 0 ? 0 : 1]}/promote`,
          { token },
        ),
      ),
    )
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(200))
    const live = (await request('GET', '/deploys')).json.items.filter(
      ({ isLive }: { isLive: boolean }) => isLive,
    )
    expect(live).toHaveLength(1)
    for (const directory of directories.slice(0, 2)) await waitForFolder(directory, live[0].hash)
  })

  test('refuse packages whose native modules are for another platform', async () => {
    const hash = await prepare({
      'functions/a.ts': 'a',
      // ASCII, because the test sends text.
      'node_modules/@img/win/x.node': 'MZ'.padEnd(40),
      'node_modules/plain/index.js': 'x',
    })
    expect(envelope(await request('POST', `/deploys/${hash}/promote`))).toEqual({
      code: 400,
      error: 'foreign_native_modules',
      message: `native modules for another platform than ${process.platform}-${process.arch}: @img/win (win32)`,
    })
    expect(await liveHash()).toBeNull()
  })
})

describe('folders of nodes', () => {
  test('are made again by a node that finds them damaged, and abandoned ones are removed', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'basalt-functions-'))
    const hash = await deploy({ 'functions/a.ts': 'whole', 'functions/b.ts': 'b' })
    const folder = folderOf(directory, hash)
    const abandoned = join(directory, 'functions', '.abandoned')
    const recent = join(directory, 'functions', '.recent')
    mkdirSync(join(folder, 'functions'), { recursive: true })
    // The names and sizes are right, and only the hash differs.
    writeFileSync(join(folder, 'functions/a.ts'), 'WHOLE')
    writeFileSync(join(folder, 'functions/b.ts'), 'b')
    for (const each of [abandoned, recent]) mkdirSync(each)
    utimesSync(abandoned, 0, 0)
    await using _third = await openNode(directory)
    await waitFor('the whole file', () => readFileSync(join(folder, 'functions/a.ts'), 'utf8') === 'whole')
    await waitFor('the abandoned folder to be removed', () => !existsSync(abandoned))
    expect(readdirSync(join(directory, 'functions')).toSorted()).toEqual(['.recent', hash])
  })

  test('are shared by nodes of one machine', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'basalt-functions-'))
    await using _third = await openNode(directory)
    await using _fourth = await openNode(directory)
    const hash = await deploy(
      Object.fromEntries(Array.from({ length: 120 }, (_, i) => [`functions/${i}.ts`, `${i}`])),
    )
    const folder = await waitForFolder(directory, hash)
    await waitFor('no other folder', () => readdirSync(join(directory, 'functions')).join() === hash)
    expect(readdirSync(join(folder, 'functions'))).toHaveLength(120)
  })

  test('keep the previous deploy while the content of the new one is damaged', async () => {
    const old = await deploy({ 'functions/a.ts': 'old' })
    await waitForFolder(directories[0], old)
    const hash = await prepare({ 'functions/a.ts': 'new' })
    const [blob] = await database.sql(
      `update basalt.function_blobs set bytes = 'bad' where bytes = 'new' returning encode(sha256, 'hex') as sha256`,
    )
    const logged = app.log.length
    expect((await request('POST', `/deploys/${hash}/promote`)).status).toBe(200)
    await waitFor('the failure', () =>
      app.log.slice(logged).some((line) => line.includes('the content of functions/a.ts is damaged')),
    )
    expect(existsSync(folderOf(directories[0], hash))).toBe(false)
    expect(existsSync(folderOf(directories[0], old))).toBe(true)
    await database.sql(`update basalt.function_blobs set bytes = 'new' where encode(sha256, 'hex') = $1`, [
      blob?.sha256,
    ])
    await waitForFolder(directories[0], hash)
  })
})

describe('function_deploy_cleanup', () => {
  async function cleanUp(): Promise<void> {
    const token = await app.adminToken()
    const body = { type: 'function_deploy_cleanup' }
    const { json } = await app.request('POST', '/api/admin/jobs', { token, body })
    await waitFor('the job', async () => {
      const rows = await database.sql(`select from basalt.jobs where id = $1 and state = 'completed'`, [
        json.id,
      ])
      return rows.length === 1
    })
  }

  test('keeps the live deploy, ten earlier ones and recent uploads, with their contents', async () => {
    const hashes: string[] = []
    for (let index = 0; index < 13; index += 1)
      hashes.push(await deploy({ 'functions/a.ts': `content ${index}` }))
    const recent = await prepare({ 'functions/a.ts': 'recent' })
    const old = await prepare({ 'functions/a.ts': 'old' })
    await database.sql(`
      update basalt.function_deploys set used_at = now() - interval '25 h' where hash = '${old}';
      update basalt.function_blobs set created_at = now() - interval '25 h'`)
    await cleanUp()
    const kept = (await request('GET', '/deploys')).json.items.map(({ hash }: { hash: string }) => hash)
    expect(kept.toSorted()).toEqual([...hashes.slice(2), recent].toSorted())
    expect(await database.sql(`select from basalt.function_blobs`)).toHaveLength(12)
    const next = await deploy({ 'functions/a.ts': 'next' })
    await waitForFolder(directories[0], next)
    await waitFor('the folders of removed deploys to be removed', () =>
      hashes.slice(0, 2).every((hash) => !existsSync(folderOf(directories[0], hash))),
    )
    expect(existsSync(folderOf(directories[0], hashes[12] ?? ''))).toBe(true)
  })

  test('removes no content that a deploy names in the meantime', async () => {
    await send(['shared'])
    await database.sql(`update basalt.function_blobs set created_at = now() - interval '25 h'`)
    await using creation = await openTransaction(database)
    // The transaction is that of the creation of a deploy, between its two statements.
    await creation.sql(`select pg_advisory_xact_lock_shared(hashtextextended('basalt function blobs', 0))`)
    const cleaning = cleanUp()
    await creation.waitForBlocked()
    const file = functionFile('shared')
    await creation.sql(
      `insert into basalt.function_deploys (hash, file_count, total_bytes) values ('${unknownHash}', 1, 6)`,
    )
    await creation.sql(
      `insert into basalt.function_files values ('${unknownHash}', 'functions/a.ts', decode('${file.sha256}', 'hex'), 6)`,
    )
    await creation.commit()
    await cleaning
    expect(await database.sql('select from basalt.function_blobs')).toHaveLength(1)
  })
})
