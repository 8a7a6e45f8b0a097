import { createHash } from 'node:crypto'
import { once } from 'node:events'
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
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { openTransaction } from '../../../../../test/account-nodes.ts'
import { createApiKey } from '../../../../../test/api-keys.ts'
import { explaining } from '../../../../../test/explain.ts'
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
import { withEnvironment, withoutPrograms, withPrograms } from '../../../../../test/with-environment.ts'
import type { Watch } from '../../../../database/notifications/notifications.ts'
import { tarEnd, tarHeader, tarPadding } from '../../../../lib/tar.ts'
import { listDeploys } from '../deploy.ts'
import { LiveFunctions } from '../live-functions.ts'

let database: TestDatabase
let app: TestApp
let second: TestApp
const directories: string[] = []
const timestamp = expect.stringMatching(/^\d{4}-\d\d-\d\dT/)
const unknownHash = 'ab'.repeat(32)

/** Makes a directory that is removed after the tests. */
function makeDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'basalt-functions-'))
  directories.push(directory)
  return directory
}

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

const request = (method: string, path: string, body?: unknown, headers?: Record<string, string>) =>
  requestOf(app, method, path, body, headers)

async function requestOf(
  node: TestApp,
  method: string,
  path: string,
  body?: unknown,
  headers?: Record<string, string>,
) {
  const token = await node.adminToken()
  return await node.request(method, `/api/admin/functions${path}`, {
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
      functionFile('{}', 'package.json'),
    ]
    const created = await request('POST', '/deploys', { files })
    const hash: string = created.json.deploy.hash
    const shown = {
      hash,
      fileCount: 3,
      totalBytes: 34,
      isPrevious: false,
      installs: false,
      createdAt: timestamp,
      functionFiles: ['a.ts'],
    }
    const isPromoted = { isLive: true, promotedAt: timestamp, promotedBy: expect.any(String) }
    expect([created.status, created.json]).toEqual([
      201,
      {
        deploy: { ...shown, isLive: false, promotedAt: null, promotedBy: null },
        missing: [...new Set(files.map(({ sha256 }) => sha256))].toSorted(),
      },
    ])
    expect(envelope(await request('POST', `/deploys/${hash}/promote`))).toEqual({
      code: 409,
      error: 'function_deploy_incomplete',
      message: 'the deploy lacks 2 of its files',
    })
    const sent = await send(['export default 1', '{}'])
    expect([sent.status, sent.json]).toEqual([200, { files: 2 }])
    const again = await request('POST', '/deploys', { files: files.toReversed() })
    expect([again.json.deploy.hash, again.json.missing]).toEqual([hash, []])
    const promoted = await request('POST', `/deploys/${hash}/promote`)
    expect([promoted.status, promoted.json]).toEqual([200, { ...shown, ...isPromoted }])
    expect((await request('GET', '/deploys')).json).toEqual({
      items: [{ ...shown, ...isPromoted }],
      count: 1,
    })
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

  test('take over from a process that ends while they load', async () => {
    const version = (number: number, before = '') => `${before}
      const route = (path, handler) => ({
        [Symbol.for('basalt.function')]: {
          version: 1, kind: 'route', method: 'GET', path, access: 'anonymous', handler, openDatabase: () => ({}),
        },
      })
      export const number = route('/number', () => ${number})
      export const exit = route('/exit', () => process.exit(1))`
    const serves = async (number: number) =>
      (await app.request('GET', '/api/functions/number')).text === String(number) || undefined
    await deploy({ 'functions/a.js': version(1), 'package.json': '{ "type": "module" }' })
    await waitFor('the first deploy', () => serves(1))
    const slowly = 'await new Promise((resolve) => setTimeout(resolve, 3000))'
    const hash = await deploy({
      'functions/a.js': version(2, slowly),
      'package.json': '{ "type": "module" }',
    })
    await waitForFolder(directories[0], hash)
    expect((await app.request('GET', '/api/functions/exit')).status).toBe(503)
    await waitFor('the second deploy', () => serves(2))
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
    const previous = async () =>
      (await request('GET', '/deploys')).json.items
        .filter(({ isPrevious }: { isPrevious: boolean }) => isPrevious)
        .map(({ hash }: { hash: string }) => hash)
    for (const expected of [two, one]) {
      expect(await previous()).toEqual([expected])
      const { status, json } = await request('POST', '/deploys/rollback')
      expect([status, json.hash, json.isLive]).toEqual([200, expected, true])
    }
    expect(envelope(await request('POST', '/deploys/rollback'))).toEqual({
      code: 409,
      error: 'no_earlier_function_deploy',
      message: 'there is no earlier deploy',
    })
    expect(await previous()).toEqual([])
    expect((await request('POST', `/deploys/${three}/promote`)).json.isLive).toBe(true)
    expect((await request('POST', `/deploys/${three}/promote`)).json.isLive).toBe(true)
    // The second one was live before the third, and has left the history with its rollback.
    expect(await previous()).toEqual([one])
    expect((await request('POST', '/deploys/rollback')).json.hash).toBe(one)
  })

  test('remove types of jobs that an earlier one had while no server ran', async () => {
    const types = async () =>
      (await database.sql('select type from basalt.sql_job_types order by type')).map(({ type }) => type)
    const before = await types()
    await database.sql("insert into basalt.sql_job_types (type, max_attempts) values ('left_over', 1)")
    await deploy({ 'functions/a.ts': 'export {}' })
    await waitFor('the removal', async () => !(await types()).includes('left_over'))
    expect(await types()).toEqual(before)
  })

  test('are listed without a read of the files of their packages', async () => {
    await database.sql(`
      insert into basalt.function_deploys (hash, file_count, total_bytes) values ('${unknownHash}', 10001, 0);
      insert into basalt.function_files (hash, path, sha256, size)
      select '${unknownHash}', case n when 0 then 'functions/a.ts' else 'node_modules/a/' || n || '.js' end, sha256(''), 0
      from generate_series(0, 10000) n`)
    const { database: explained, reads } = explaining(app.app.database.system)
    expect(await listDeploys(explained)).toMatchObject([{ functionFiles: ['a.ts'] }])
    expect(reads.wholeTables).not.toContain('function_files')
    expect(reads.rows).toBeLessThan(50)
  })

  test('have one live deploy after ten promotions at once on two nodes', async () => {
    const hashes = [await prepare({ 'functions/a.ts': '1' }), await prepare({ 'functions/a.ts': '2' })]
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

describe('deploys that cannot be loaded', () => {
  const promote = (hash: string, node = app) => requestOf(node, 'POST', `/deploys/${hash}/promote`)
  const isRunning = (pid: number) => {
    try {
      return process.kill(pid, 0)
    } catch {
      return false
    }
  }
  const endless = `console.log('spins as ' + process.pid)\nfor (;;) {}`
  /** Waits for the process of a deploy that loops. @returns its id */
  const untilSpinning = (node: TestApp, since = 0) =>
    waitFor('the endless loop', () => {
      const [, pid] = /spins as (\d+)/.exec(node.log.slice(since).join()) ?? []
      return pid === undefined ? undefined : Number(pid)
    })

  /** Checks that the refusal of a deploy has changed nothing. */
  async function expectUnchanged(hash: string, live: string | null): Promise<void> {
    expect(await liveHash()).toBe(live)
    expect(
      await database.sql('select promotion from basalt.function_deploys where hash = $1', [hash]),
    ).toEqual([{ promotion: null }])
    expect(
      await database.sql(
        `select target from basalt.audit where action = 'functions.promote' and target = $1`,
        [hash],
      ),
    ).toEqual([])
    await waitFor('the end of the process', () => !app.app.functions.isRetiring)
  }

  test.each([
    [
      'a syntax error',
      { 'functions/shop.ts': 'export const a = 1\nexport const b = = 2\n' },
      'shop.ts:2: SyntaxError [ERR_INVALID_TYPESCRIPT_SYNTAX]: Expression expected',
    ],
    [
      'a missing package',
      { 'functions/shop.ts': `import 'lost'` },
      `shop.ts: Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'lost' imported from functions/shop.ts`,
    ],
    [
      'errors in two files',
      { 'functions/a.ts': `import './lib/a.ts'`, 'functions/b.ts': 'b', 'functions/lib/a.ts': '\nthrow 7' },
      'a.ts: 7; b.ts:1: ReferenceError: b is not defined',
    ],
    [
      'a function of another version',
      {
        'functions/shop.ts': `export const shop = { [Symbol.for('basalt.function')]: { version: 2, kind: 'route' } }`,
      },
      'shop.ts:',
    ],
    [
      'a function for changes of a view',
      {
        'functions/shop.ts': `export const shop = { [Symbol.for('basalt.function')]: {
          version: 1, kind: 'after', table: 'shown', operations: ['create'] } }`,
      },
      'shop.ts: shop: shown has no events: it is no table',
    ],
    [
      'code that ends its process',
      { 'functions/shop.ts': 'process.exit(3)' },
      'the process of the functions ended: it has ended with code 3',
    ],
    ['no folder', { 'package.json': '{}' }, 'the deploy has no folder functions'],
  ] as const)('are refused for %s, and change nothing', async (_case, files, problem) => {
    const live = await deploy({ 'functions/a.ts': '' })
    if (problem.includes('shown')) {
      await database.sql('create view shown as select 1 as id')
      await waitFor('the view', () => app.app.catalog.current.relations.has('shown'))
    }
    const hash = await prepare(files)
    const refused = envelope(await promote(hash))
    expect(refused).toMatchObject({ code: 400, error: 'function_deploy_unloadable' })
    expect(refused.message).toContain(`the functions cannot be loaded: ${problem}`)
    expect(refused.message).not.toContain('node:')
    await expectUnchanged(hash, live)
  })

  test('are refused before there is a live one, and without secrets', async () => {
    const token = await app.adminToken()
    const path = '/api/admin/secrets/LOAD_TOKEN'
    const value = 'not-for-responses'
    expect((await app.request('PUT', path, { token, body: { value } })).status).toBeLessThan(300)
    const hash = await prepare({ 'functions/a.ts': `throw new Error('not-for-responses')` })
    const { message } = envelope(await promote(hash))
    expect(message).toBe('the functions cannot be loaded: a.ts:1: Error: [LOAD_TOKEN]')
    await expectUnchanged(hash, null)
    expect((await app.request('DELETE', path, { token })).status).toBeLessThan(300)
  })

  test('are refused when their process ends, each of two promotions at once', async () => {
    const hash = await prepare({ 'functions/a.ts': endless })
    const since = app.log.length
    const answers = Promise.all([promote(hash), promote(hash)])
    process.kill(await untilSpinning(app, since), 'SIGKILL')
    for (const answer of await answers)
      expect(envelope(answer)).toEqual({
        ...{ code: 400, error: 'function_deploy_unloadable' },
        message:
          'the functions cannot be loaded: the process of the functions ended: it has ended with SIGKILL',
      })
    expect(app.log.slice(since).filter((line) => line.includes('spins as'))).toHaveLength(1)
    await expectUnchanged(hash, null)
  })

  test('hold up no rollback while they load, and end with the server', async () => {
    const directory = makeDirectory()
    const hashes = [await deploy({ 'functions/a.ts': '1' }), await deploy({ 'functions/a.ts': '2' })]
    const hash = await prepare({ 'functions/a.ts': endless })
    const third = await createTestApp({
      ...{ database, config: { 'server.data_dir': directory, 'server.shutdown_timeout': '1' } },
    })
    const promotion = promote(hash, third).catch(() => undefined)
    const pid = await untilSpinning(third)
    expect((await request('POST', '/deploys/rollback')).json.hash).toBe(hashes[0])
    await third[Symbol.asyncDispose]()
    await promotion
    await waitFor('the end of the process', () => !isRunning(pid))
    await expectUnchanged(hash, hashes[0] ?? null)
  })

  test('are no deploys with exports that are no functions', async () => {
    const hash = await deploy({ 'functions/a.ts': 'export const a = 1\nexport default () => 1' })
    await waitForFolder(directories[1], hash)
  })
})

describe('deploys whose packages are installed', () => {
  const shop = (answer: string) => `import { leaf } from 'leaf'
    export const installed = { [Symbol.for('basalt.function')]: {
      version: 1, kind: 'route', method: 'GET', path: '/installed', access: 'anonymous',
      handler: () => leaf + '${answer}', openDatabase: () => ({}) } }`
  /** Makes the archive of a package, with a script that leaves a file. */
  function pack(): string {
    const files = {
      'package/package.json': JSON.stringify({
        ...{ name: 'leaf', version: '1.0.0', main: 'index.js' },
        scripts: { postinstall: 'touch ../../installed-by-script' },
      }),
      'package/index.js': `exports.leaf = 'leaf '`,
    }
    const parts = Object.entries(files).flatMap(([path, text]) => {
      const bytes = Buffer.from(text)
      return [
        tarHeader({ path, kind: 'file', size: bytes.length }, new Date(0)),
        bytes,
        tarPadding(bytes.length),
      ]
    })
    return Buffer.concat([...parts, tarEnd]).toString('latin1')
  }
  let registryUrl: string
  const registry = createServer(({ url = '' }, response) =>
    url.endsWith('.tgz')
      ? response.end(pack(), 'latin1')
      : response.end(
          JSON.stringify({ name: 'leaf', versions: { '1.0.0': { name: 'leaf', version: '1.0.0' } } }),
        ),
  )
  beforeAll(async () => {
    await once(registry.listen(0, '127.0.0.1'), 'listening')
    registryUrl = `http://127.0.0.1:${(registry.address() as AddressInfo).port}/`
  })
  afterAll(() => registry.close())
  const withRegistry = <Result>(work: () => Promise<Result>) =>
    withEnvironment({ NPM_CONFIG_REGISTRY: registryUrl }, work)

  const lockedLeaf = () => ({
    'node_modules/leaf': {
      ...{ version: '1.0.0', resolved: `${registryUrl}leaf/-/leaf-1.0.0.tgz`, hasInstallScript: true },
      integrity: `sha512-${createHash('sha512').update(pack(), 'latin1').digest('base64')}`,
    },
  })
  const filesOf = (answer: string, locked: object = lockedLeaf()) => {
    const project = { name: 'shop', version: '1.0.0', dependencies: { leaf: '1.0.0' } }
    return {
      'functions/shop.js': shop(answer),
      'package.json': JSON.stringify({ ...project, type: 'module' }),
      'package-lock.json': JSON.stringify({
        ...{ name: 'shop', version: '1.0.0', lockfileVersion: 3, requires: true },
        packages: { '': project, ...locked },
      }),
    }
  }
  /** Installs the package of the tests, as a stand-in for npm. */
  const installLeaf = `mkdir -p node_modules/leaf && echo "exports.leaf = 'leaf '" > node_modules/leaf/index.js`

  /** Runs work while npm is a script with the shell commands for `npm ci`. */
  async function withNpm<Result>(script: string, work: () => Promise<Result>): Promise<Result> {
    const folder = mkdtempSync(join(tmpdir(), 'basalt-npm-'))
    const config = `[ "$1" = config ] && { echo '{ "registry": "${registryUrl}" }'; exit; }`
    writeFileSync(join(folder, 'npm'), `#!/bin/sh\n${config}\n${script}\n`, { mode: 0o755 })
    try {
      return await withPrograms(folder, work)
    } finally {
      rmSync(folder, { recursive: true })
    }
  }

  const promote = (hash: string, node = app) => requestOf(node, 'POST', `/deploys/${hash}/promote`)

  async function prepareInstallation(files: Readonly<Record<string, string>>): Promise<string> {
    const manifest = Object.entries(files).map(([path, content]) => functionFile(content, path))
    const { status, json } = await request('POST', '/deploys', { files: manifest, install: true })
    expect([status, json.deploy?.installs]).toEqual([201, true])
    await send(Object.values(files))
    return json.deploy.hash
  }

  test('run on every node, without their install scripts', async () => {
    const hash = await prepareInstallation(filesOf('1'))
    await withRegistry(async () => {
      for (const { status, json } of await Promise.all([promote(hash), promote(hash)]))
        expect([status, json.isLive]).toEqual([200, true])
      for (const node of [app, second]) {
        await waitFor('the function', async () => {
          const { text } = await node.request('GET', '/api/functions/installed')
          return text === '"leaf 1"'
        })
      }
    })
    for (const directory of directories.slice(0, 2)) {
      const names = readdirSync(folderOf(directory, hash)).toSorted()
      expect(names).toEqual(['functions', 'node_modules', 'package-lock.json', 'package.json'])
    }
  })

  test('never become live if they cannot be installed, and the deployer gets the reason', async () => {
    const hash = await prepareInstallation(filesOf('2', {}))
    const refused = envelope(await withRegistry(() => promote(hash)))
    expect(refused).toMatchObject({ code: 400, error: 'function_install_failed' })
    expect(refused.message).toMatch(/^the packages could not be installed: .*Missing: leaf/s)
    await withoutPrograms(async () => {
      expect(envelope(await promote(hash))).toMatchObject({
        message: 'the packages could not be installed: this server has no npm',
      })
    })
    expect(await liveHash()).toBeNull()
    expect(existsSync(folderOf(directories[0], hash))).toBe(false)
  })

  test('have packages of the configured registry only', async () => {
    const foreign = { ...lockedLeaf()['node_modules/leaf'], resolved: 'https://github.com/a/leaf.git' }
    const hash = await prepareInstallation(filesOf('4', { 'node_modules/leaf': foreign }))
    const refused = envelope(await withRegistry(() => promote(hash)))
    expect(refused).toMatchObject({ code: 400, error: 'function_install_failed' })
    expect(refused.message).toContain(
      '"node_modules/leaf", which does not come from a registry in the npm configuration of the server',
    )
  })

  test.for([
    [`echo 'npm error code E404' >&2; echo "npm error 404 in $PWD" >&2; exit 1`, 'code E404\n404 in '],
    [`echo 'npm error code ENOSPC' >&2; exit 228`, 'the disk of the server has no space left (ENOSPC)'],
    [`echo 'npm error code EROFS' >&2; exit 226`, 'the server cannot write to its data directory (EROFS)'],
    [`exit 3`, 'npm ended with code 3'],
    [`kill -9 $$`, 'npm ended with SIGKILL'],
    [
      'mkdir node_modules && truncate -s 250000001 node_modules/large',
      'npm has written more than 250000000 bytes',
    ],
    ['mkdir node_modules && ln -s /etc node_modules/a', 'node_modules/a is a symbolic link'],
  ] as const)('report what npm reports: %s', async ([script, problem]) => {
    const hash = await prepareInstallation(filesOf('5'))
    await withNpm(script, async () => {
      expect(envelope(await promote(hash))).toEqual({
        ...{ code: 400, error: 'function_install_failed' },
        message: `the packages could not be installed: ${problem}`,
      })
    })
    expect(
      readdirSync(join(directories[0] ?? '', 'functions')).filter((name) => name.startsWith('.')),
    ).toEqual([])
  })

  test('report a data directory that cannot be written', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'basalt-functions-'))
    writeFileSync(join(directory, 'functions'), '')
    await using lacking = await openNode(directory)
    const hash = await prepareInstallation(filesOf('6'))
    const refused = envelope(await promote(hash, lacking))
    expect(refused).toMatchObject({ code: 400, error: 'function_install_failed' })
    expect(refused.message).toMatch(/the server cannot write to its data directory \(E\w+\)$/)
  })

  test('are installed once by a node for promotions at once, with a cache of their own', async () => {
    const calls = join(makeDirectory(), 'calls')
    const hash = await prepareInstallation(filesOf('7'))
    await withNpm(`echo "$@" >> ${calls}; ${installLeaf}`, async () => {
      const answers = await Promise.all(Array.from({ length: 10 }, () => promote(hash)))
      expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(200))
      await waitForFolder(directories[1], hash)
    })
    // One call is that of the other node.
    const lines = readFileSync(calls, 'utf8').trim().split('\n')
    expect(lines).toHaveLength(2)
    for (const [index, line] of lines.entries()) {
      expect(line).toMatch(/^ci --omit=dev --ignore-scripts .* --logs-max=0$/)
      expect(line).toContain(` --cache=${join(directories[index] ?? '', 'functions', '.')}`)
    }
  })

  test('are installed by the leader among the workers of a machine', async () => {
    const directory = makeDirectory()
    const calls = join(directory, 'calls')
    const hash = await prepareInstallation(filesOf('10'))
    /** Makes the live deploy of a worker, which notices a promotion by the call. */
    const worker = (isLeading: boolean) => {
      let change: Watch['onChange'] = () => undefined
      const live = new LiveFunctions({
        ...{
          database: app.app.database.system,
          directory: join(directory, 'functions'),
          log: pino({ level: 'silent' }),
        },
        notifications: {
          ...{ isLeading, announce: () => undefined },
          watch(watch) {
            change = watch.onChange
            return { currentAt: 0, poll: async () => undefined }
          },
        },
      })
      return { live, notice: async () => await change(hash) }
    }
    const [leader, follower] = [worker(true), worker(false)]
    await withNpm(`echo call >> ${calls}; ${installLeaf}`, async () => {
      await follower.notice()
      expect(follower.live.isPending).toBe(true)
      await leader.notice()
      await waitFor('both workers', () => [leader, follower].every(({ live }) => !live.isPending))
    })
    expect(readFileSync(calls, 'utf8')).toBe('call\n')
    await Promise.all([leader.live.stop(), follower.live.stop()])
  })

  test('are installed again after a crash amid the installation', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'basalt-functions-'))
    const hash = await prepareInstallation(filesOf('8'))
    const marker = join(folderOf(directory, hash), 'node_modules/.installed')
    await withNpm(installLeaf, async () => {
      expect((await promote(hash)).status).toBe(200)
      await using _third = await openNode(directory)
      await waitFor('the installation', () => existsSync(marker))
    })
    rmSync(marker)
    rmSync(join(folderOf(directory, hash), 'node_modules/leaf'), { recursive: true })
    await withNpm(installLeaf, async () => {
      await using _again = await openNode(directory)
      await waitFor('the installation', () => existsSync(marker))
      expect(readdirSync(join(folderOf(directory, hash), 'node_modules'))).toEqual(['.installed', 'leaf'])
    })
  })

  test('delay neither the start of a node nor further deploys, and end with the server', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'basalt-functions-'))
    const pids = join(directory, 'pids')
    const hash = await prepareInstallation(filesOf('9'))
    await withNpm(installLeaf, async () => expect((await promote(hash)).status).toBe(200))
    const isRunning = (pid: number) => {
      try {
        return process.kill(pid, 0)
      } catch {
        return false
      }
    }
    await withNpm(`sleep 1000 & echo $$ $! > ${pids}; wait`, async () => {
      await using _third = await openNode(directory)
      await waitFor('npm', () => existsSync(pids) && readFileSync(pids, 'utf8').includes(' '))
      await waitForFolder(directory, await deploy({ 'functions/a.ts': 'export {}' }))
    })
    const group = readFileSync(pids, 'utf8').trim().split(' ').map(Number)
    expect(group).toHaveLength(2)
    await waitFor('the end of npm', () => !group.some(isRunning))
    expect(readdirSync(join(directory, 'functions')).filter((name) => name.startsWith('.'))).toEqual([])
  })

  test('need a lockfile, and have no packages and no configuration of npm', async () => {
    const { 'package-lock.json': _lock, ...others } = filesOf('3')
    for (const [files, problem] of [
      [others, 'there is no package-lock.json, which the installation needs'],
      [
        { ...filesOf('3'), 'node_modules/a/index.js': '' },
        'files.3.path is one of a package, which the server installs',
      ],
      ...['.npmrc', 'functions/.npmrc', 'npm-shrinkwrap.json'].map(
        (path) =>
          [
            { ...filesOf('3'), [path]: '' },
            'files.3.path must be no configuration of npm, which is that of the server',
          ] as const,
      ),
    ] as const) {
      const manifest = Object.entries(files).map(([path, content]) => functionFile(content, path))
      expect(envelope(await request('POST', '/deploys', { files: manifest, install: true }))).toEqual({
        ...{ code: 400, error: 'invalid_function_files' },
        message: `invalid files: ${problem}`,
      })
    }
  })
})

describe('folders of nodes', () => {
  test('are made again by a node that finds them damaged, and abandoned ones are removed', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'basalt-functions-'))
    const hash = await deploy({ 'functions/a.ts': '// whole', 'functions/b.ts': '' })
    const folder = folderOf(directory, hash)
    const abandoned = join(directory, 'functions', '.abandoned')
    const recent = join(directory, 'functions', '.recent')
    mkdirSync(join(folder, 'functions'), { recursive: true })
    // The names and sizes are right, and only the hash differs.
    writeFileSync(join(folder, 'functions/a.ts'), '// WHOLE')
    writeFileSync(join(folder, 'functions/b.ts'), '')
    for (const each of [abandoned, recent]) mkdirSync(each)
    utimesSync(abandoned, 0, 0)
    await using _third = await openNode(directory)
    await waitFor('the whole file', () => readFileSync(join(folder, 'functions/a.ts'), 'utf8') === '// whole')
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

  test('keep the replaced deploy while the content of the live one is damaged', async () => {
    const hash = await deploy({ 'functions/a.ts': '// earlier' })
    const replaced = await deploy({ 'functions/a.ts': '// replaced' })
    await waitForFolder(directories[0], replaced)
    rmSync(folderOf(directories[0], hash), { recursive: true })
    const [blob] = await database.sql(
      `update basalt.function_blobs set bytes = '// damaged' where bytes = '// earlier' returning encode(sha256, 'hex') as sha256`,
    )
    const logged = app.log.length
    expect((await request('POST', '/deploys/rollback')).status).toBe(200)
    await waitFor('the failure', () =>
      app.log.slice(logged).some((line) => line.includes('the content of functions/a.ts is damaged')),
    )
    expect(existsSync(folderOf(directories[0], hash))).toBe(false)
    expect(existsSync(folderOf(directories[0], replaced))).toBe(true)
    await database.sql(
      `update basalt.function_blobs set bytes = '// earlier' where encode(sha256, 'hex') = $1`,
      [blob?.sha256],
    )
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
      hashes.push(await deploy({ 'functions/a.ts': `// content ${index}` }))
    const recent = await prepare({ 'functions/a.ts': 'recent' })
    const old = await prepare({ 'functions/a.ts': 'old' })
    await database.sql(`
      update basalt.function_deploys set used_at = now() - interval '25 h' where hash = '${old}';
      update basalt.function_blobs set created_at = now() - interval '25 h'`)
    await cleanUp()
    const kept = (await request('GET', '/deploys')).json.items.map(({ hash }: { hash: string }) => hash)
    expect(kept.toSorted()).toEqual([...hashes.slice(2), recent].toSorted())
    expect(await database.sql(`select from basalt.function_blobs`)).toHaveLength(12)
    const next = await deploy({ 'functions/a.ts': '// next' })
    await waitForFolder(directories[0], next)
    await waitFor('the folders of removed deploys to be removed', () =>
      hashes.slice(0, 2).every((hash) => !existsSync(folderOf(directories[0], hash))),
    )
    expect(existsSync(folderOf(directories[0], hashes[12] ?? ''))).toBe(true)
  })

  test('keeps ten further deploys for waiting jobs, which are at most 30 days old', async () => {
    const live = await deploy({ 'functions/a.ts': 'export {}' })
    const hashOf = (number: number) => String(number).padStart(64, '0')
    await database.sql(`
      update basalt.function_deploys set promotion = 100;
      insert into basalt.function_deploys (hash, file_count, total_bytes, promotion, used_at)
      select lpad(n::text, 64, '0'), 0, 0, n, now() - interval '1 year' + n * interval '1 day' from generate_series(1, 24) n;
      insert into basalt.jobs (type, max_attempts, deploy, created_at)
      select 'absent', 1, hash, now() - case promotion when 14 then interval '31 days' else interval '29 days' end
      from basalt.function_deploys where promotion <> 13`)
    await cleanUp()
    await database.sql(`delete from basalt.jobs where type = 'absent'`)
    const kept = (await request('GET', '/deploys')).json.items.map(({ hash }: { hash: string }) => hash)
    const earlier = Array.from({ length: 10 }, (_, index) => hashOf(15 + index))
    const withJobs = Array.from({ length: 10 }, (_, index) => hashOf(3 + index))
    expect(kept.toSorted()).toEqual([live, ...earlier, ...withJobs].toSorted())
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

test('functions › refuse a request for one that does not exist alike, with and without others', async () => {
  await using empty = await openNode()
  const call = async (node: TestApp, token?: string) =>
    envelope(await node.request('GET', '/api/functions/absent', token === undefined ? {} : { token }))
  const token = userToken({ sub: alice })
  const without = [await call(empty), await call(empty, token)]
  expect(without).toMatchObject([{ error: 'missing_authorization' }, { error: 'no_such_function' }])
  const hash = await deploy({ 'functions/a.ts': '1' })
  await waitFor('the functions', () => empty.app.functions.deploy === hash)
  expect([await call(empty), await call(empty, token)]).toEqual(without)
})

describe('before hooks of a deploy', () => {
  const hooks = `export default { [Symbol.for('basalt.function')]: {
    version: 1, kind: 'before', table: 'hooked', operations: ['create'], previous: false, timeout: undefined,
    handler: (ctx, change) => { change.values.body = 'by a hook' },
    parse: JSON.parse, stringify: JSON.stringify, openDatabase: () => ({}) } }`
  const write = async (node: TestApp) => {
    const { status, json } = await node.request('POST', '/api/collections/hooked', {
      token: await node.adminToken(),
      body: { body: 'x' },
    })
    return [status, json.body ?? json.error]
  }

  test('reach every node, and a node that lacks the deploy rejects writes', async () => {
    await database.sql('create table hooked (id int generated by default as identity primary key, body text)')
    await deploy({ 'functions/hooks.ts': hooks })
    await waitFor('the hooks', async () => (await write(app))[1] === 'by a hook')
    await waitFor('the hooks of the other node', async () => (await write(second))[1] === 'by a hook')
    await using later = await openNode()
    expect(await write(later)).toEqual([201, 'by a hook'])
    const directory = mkdtempSync(join(tmpdir(), 'basalt-functions-'))
    // Nothing can be written below a file.
    writeFileSync(join(directory, 'functions'), '')
    await using lacking = await openNode(directory)
    expect(await write(lacking)).toEqual([503, 'functions_unavailable'])
    await database.sql(`insert into basalt.users (id) values ('${alice}') on conflict do nothing`)
    const { key } = await createApiKey(app, { userId: alice, scope: 'readonly' })
    for (const token of [undefined, userToken({ sub: alice }), await lacking.adminToken(), key])
      for (const path of ['/api/functions/version', '/functions/v1/version']) {
        const refused = await lacking.request('GET', path, token === undefined ? {} : { token })
        expect([refused.status, refused.json.error, refused.headers.get('retry-after')]).toEqual([
          ...[503, 'functions_unavailable', '1'],
        ])
      }
    const message = await lacking.request('POST', '/api/functions/inbound/version', { body: {} })
    expect([message.status, message.headers.get('retry-after')]).toEqual([503, '1'])
  })
})
