import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { functionArchive, functionFile } from '../../../../../test/function-deploys.ts'
import {
  createTestApp,
  createTestDatabase,
  type TestApp,
  type TestDatabase,
} from '../../../../../test/test-app.ts'
import { waitFor } from '../../../../../test/wait-for.ts'

let database: TestDatabase
let app: TestApp
const directories: string[] = []

async function openNode(): Promise<TestApp> {
  const directory = mkdtempSync(join(tmpdir(), 'basalt-functions-'))
  directories.push(directory)
  return await createTestApp({
    database,
    config: {
      'server.data_dir': directory,
      'server.shutdown_timeout': '1',
      'functions.timeout': '25',
    },
  })
}

/** Returns the code of a version: a route for adding jobs, and jobs that note its name. */
const code = (version: string, more = '') => `
const define = (members) => ({
  [Symbol.for('basalt.function')]: { version: 1, openDatabase: (bridge) => bridge, ...members },
})
const note = (ctx, text) => ctx.db.sql('insert into note (text) values ($1)', ['${version} ' + text])
const job = (name, handler, options = {}) => define({ kind: 'job', job: name, handler, ...options })
export const version = define({ kind: 'route', method: 'GET', path: '/version', access: 'anonymous',
  handler: () => '${version}' })
export const add = define({ kind: 'route', method: 'POST', path: '/add', access: 'anonymous',
  input: { type: 'object', additionalProperties: true },
  handler: (ctx, { job, payload, options }) => ctx.enqueue(job, payload, options) })
export const shared = job('shared', (ctx) => note(ctx, 'shared'))
export const again = job('again', async (ctx) => {
  await note(ctx, 'again')
  if ((await ctx.db.sql("select from note where text like '% again'", [])).count < 3) {
    await ctx.enqueue('again')
    await ctx.enqueue('shared')
  }
})
${more}`
const only = (name: string) => `export const ${name} = job('${name}', (ctx) => note(ctx, '${name}'))`

beforeAll(async () => {
  database = await createTestDatabase()
  await database.sql('create table note (id int generated always as identity, text text)')
  app = await openNode()
})
afterAll(async () => {
  await app[Symbol.asyncDispose]()
  for (const directory of directories) rmSync(directory, { recursive: true, force: true })
  await database[Symbol.asyncDispose]()
})
beforeEach(() => database.sql('truncate note; delete from basalt.jobs'))

async function request(method: string, path: string, body?: unknown, headers?: Record<string, string>) {
  const token = await app.adminToken()
  return await app.request(method, `/api/admin${path}`, {
    ...{ token, body },
    ...(headers === undefined ? {} : { headers }),
  })
}

/** Makes a version live, and waits until the node serves it and SQL knows its jobs. */
async function deploy(version: string, more = ''): Promise<string> {
  const files = { 'functions/jobs.js': code(version, more), 'package.json': '{ "type": "module" }' }
  const manifest = Object.entries(files).map(([path, content]) => functionFile(content, path))
  const { json } = await request('POST', '/functions/deploys', { files: manifest })
  const archive = functionArchive(Object.values(files)).toString('latin1')
  await request('POST', '/functions/files', archive, { 'content-type': 'application/x-tar' })
  const hash: string = json.deploy.hash
  await request('POST', `/functions/deploys/${hash}/promote`)
  await untilServed(version, hash)
  return hash
}

async function untilServed(version: string, hash: string): Promise<void> {
  await waitFor(`version ${version}`, async () => {
    const { text } = await app.request('GET', '/api/functions/version')
    const [type] = await database.sql(`select deploy from basalt.sql_job_types where type = 'shared'`)
    return text === `"${version}"` && type?.deploy === hash
  })
}

const later = { at: '2999-01-01T00:00:00Z' }

/** Adds a job through a function. It is due at once, or once {@link release} is called. */
async function add(job: string, options: object = later): Promise<string> {
  const { status, json } = await app.request('POST', '/api/functions/add', {
    body: { job, payload: {}, options },
  })
  expect(status).toBe(200)
  return json
}

const release = () => database.sql(`update basalt.jobs set run_at = now() where state = 'queued'`)

async function untilNotes(...expected: string[]): Promise<void> {
  const read = async () =>
    (await database.sql('select text from note')).map(({ text }) => String(text)).toSorted()
  await waitFor(`the notes ${expected.join()}`, async () => (await read()).length >= expected.length)
  expect(await read()).toEqual(expected.toSorted())
}

async function deployOf(id: string): Promise<unknown> {
  const [row] = await database.sql('select deploy from basalt.jobs where id = $1', [id])
  return row?.deploy
}

describe('jobs of functions › deploys', () => {
  test('run under the deploy with which they were queued, also after a rollback', async () => {
    const one = await deploy('1')
    const first = await add('shared')
    const two = await deploy('2')
    const [fromSql] = await database.sql<{ id: string }>(
      `select basalt.enqueue('shared', run_at => '2999-01-01') as id`,
    )
    const byOwner = await request('POST', '/jobs', { type: 'shared', runAt: later.at })
    expect(byOwner.json).toMatchObject({ deploy: two })
    expect([await deployOf(first), await deployOf(fromSql?.id ?? '')]).toEqual([one, two])
    await request('POST', '/functions/deploys/rollback')
    await untilServed('1', one)
    await add('shared')
    await release()
    await untilNotes('1 shared', '1 shared', '2 shared', '2 shared')
  })

  test('run on a node that has never served their deploy, though the live one lacks them', async () => {
    await deploy('3', only('gone'))
    await add('gone')
    await deploy('4')
    await restart()
    await release()
    await untilNotes('3 gone')
    expect((await request('GET', '/jobs?type=gone')).json.items[0]).toMatchObject({ state: 'completed' })
    // It cannot be added any more.
    expect((await request('POST', '/jobs', { type: 'gone' })).status).toBe(400)
    await expect(database.sql(`select basalt.enqueue('gone')`)).rejects.toThrow('unknown job type')
  })

  test('run in one earlier deploy after the other', async () => {
    for (const version of ['5', '6', '7']) {
      await deploy(version)
      await add('shared')
    }
    await deploy('8')
    await release()
    await untilNotes('5 shared', '6 shared', '7 shared')
  })

  test('run in the live functions once their deploy is not kept, or cannot be loaded, or lacks them', async () => {
    const removed = await deploy('removed')
    await add('shared')
    await deploy('lacking')
    const lacking = await add('shared')
    const broken = await deploy('broken')
    const unloadable = await add('shared')
    const live = await deploy('live', only('fresh'))
    await database.sql(`delete from basalt.function_deploys where hash = $1`, [removed])
    const fresh = await add('fresh')
    await database.sql(`update basalt.jobs set deploy = $1 where id = $2`, [await deployOf(lacking), fresh])
    await database.sql(`
      update basalt.function_files set path = 'functions/other.js', hash = hash where hash = '${broken}' and path like '%.js';
      update basalt.function_files set sha256 = (select sha256 from basalt.function_blobs where bytes like '{%' limit 1),
        size = (select octet_length(bytes) from basalt.function_blobs where bytes like '{%' limit 1)
      where hash = '${broken}' and path like '%.js'`)
    await restart()
    await untilServed('live', live)
    await release()
    await untilNotes('lacking shared', 'live fresh', 'live shared', 'live shared')
    expect(await deployOf(unloadable)).toBe(broken)
  })

  test('follow the deploys if they add themselves, but the others that they add do not', async () => {
    await deploy('9')
    await add('again')
    await deploy('10')
    await release()
    await untilNotes('9 again', '10 again', '10 again', '9 shared', '10 shared')
  })

  test('belong to the live deploy when they get another payload, or an administrator retries them', async () => {
    const failing = `export const failing = job('failing', () => { throw new Error('no') }, { retries: 0 })`
    await deploy('11', failing)
    const keyed = await add('shared', { ...later, key: 'k' })
    const failed = await add('failing', {})
    await waitFor(
      'the failure',
      async () => (await request('GET', `/jobs/${failed}`)).json.state === 'failed',
    )
    const live = await deploy('12', only('failing'))
    expect(await add('shared', { ...later, key: 'k' })).toBe(keyed)
    expect(await deployOf(keyed)).toBe(live)
    expect((await request('POST', `/jobs/${failed}/retry`)).json).toMatchObject({ deploy: live })
    await untilNotes('12 failing')
  })
})

test('streamed responses of a replaced deploy › are cut after the grace period while a job of it runs, also those that begin later', async () => {
  const streaming = `
    let open = () => {}
    const opened = new Promise((resolve) => { open = resolve })
    const get = (path, handler) => define({ kind: 'route', method: 'GET', path, access: 'anonymous', handler })
    export const begun = get('/begun', () => new ReadableStream())
    export const late = get('/late', () => { console.log('waits for a job'); return opened.then(() => new ReadableStream()) })
    export const opens = job('opens', async (ctx) => {
      open()
      while ((await ctx.db.sql("select from note where text = 'end'", [])).count === 0) await new Promise((resolve) => setTimeout(resolve, 20))
    })`
  await deploy('streaming', streaming)
  // One earlier deploy is kept at a time.
  await waitFor('the end of the others', () => app.app.functions.earlierDeploy === undefined)
  const begun = await fetch(`${app.url}/api/functions/begun`)
  const late = fetch(`${app.url}/api/functions/late`)
  await waitFor('the call', () => app.log.some((line) => line.includes('waits for a job')))
  const job = await add('opens')
  await deploy('13')
  await release()
  for (const response of [await late, begun])
    expect([response.status, await response.text().catch(() => 'cut')]).toEqual([200, 'cut'])
  const cuts = app.log.filter((line) => line.includes('the response was cut: other functions have been'))
  expect(cuts).toHaveLength(2)
  expect((await request('GET', `/jobs/${job}`)).json.state).toBe('running')
  await database.sql("insert into note (text) values ('end')")
  await waitFor('its end', async () => (await request('GET', `/jobs/${job}`)).json.state === 'completed')
})

/** Replaces the node by one that has loaded nothing. */
async function restart(): Promise<void> {
  await app[Symbol.asyncDispose]()
  app = await openNode()
}
