import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { preset } from '@graphql-codegen/client-preset'
import { codegen } from '@graphql-codegen/core'
import { buildClientSchema, getIntrospectionQuery, parse, printSchema } from 'graphql'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { alice, bob } from '../../../server/test/fixtures.ts'
import { createDirectory } from '../../../server/test/server-process.ts'
import { basaltHere } from '../../../server/test/terminal.ts'
import { createTestApp, type TestApp, userToken } from '../../../server/test/test-app.ts'
import { type Client, createClient } from '../index.ts'
import { createNetwork, readFixture } from './harness.ts'

const root = join(import.meta.dirname, '../../../..')
const directory = createDirectory()
let app: TestApp
const token = userToken({ sub: alice })

beforeAll(async () => {
  app = await createTestApp({ setup: await readFixture(), config: { 'graphql.persisted': 'allow' } })
  symlinkSync(join(root, 'node_modules'), join(directory.path, 'node_modules'))
})
beforeEach(() =>
  app.sql(`
    truncate album, task restart identity cascade;
    insert into album (title, price, mood) values ('one', 12345678901234567.89, 'calm');
    insert into task (title, album_id, owner) values ('write', 1, '${alice}'), ('hidden', 1, '${bob}')`),
)
afterAll(async () => {
  await app[Symbol.asyncDispose]()
  await directory[Symbol.asyncDispose]()
})

const operations = `
  query Tasks($title: String) {
    task(where: {title: {_eq: $title}}, order_by: {id: ASC}) { id done ...Named album { ...Priced } }
  }
  fragment Named on task { title }
  fragment Priced on album { id price mood added: tags }
  mutation AddTasks($objects: [TaskInsertInput!]!) {
    insert_task(objects: $objects) { affected_rows returning { ...Named } }
  }`

const program = `
  import type { Client } from '@basaltdb/client'
  import { AddTasksDocument, TasksDocument } from './graphql.ts'

  type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
  type Album = { id: string; price: string; mood: 'calm' | 'loud' | null; added: Array<string | null> }
  type Task = { id: number; done: boolean; title: string; album: Album | null }

  export async function run(client: Client) {
    const all = await client.graphql(TasksDocument)
    const isTyped: Same<(typeof all)['task'][number]['album'], Task['album']> = true
    const named: readonly Task[] = (await client.graphql(TasksDocument, { title: 'write' })).task
    const added = await client.graphql(AddTasksDocument, { objects: [{ title: 'new' }] }, { idempotencyKey: crypto.randomUUID() })
    const count: number | undefined = added.insert_task?.affected_rows
    return { isTyped, all, named, count }
  }

  export async function refused(client: Client) {
    // @ts-expect-error a variable is missing
    await client.graphql(AddTasksDocument)
    // @ts-expect-error a variable has another type
    await client.graphql(TasksDocument, { title: 1 })
    // @ts-expect-error a required member of an input is missing
    await client.graphql(AddTasksDocument, { objects: [{ done: true }] })
    // @ts-expect-error a field was not selected
    ;(await client.graphql(TasksDocument)).task[0]?.owner
  }`

/** Generates the modules of an application from the schema that the server describes. */
async function generate(folder: string, config: object): Promise<void> {
  const { data } = (
    await app.request('POST', '/api/graphql', { token, body: { query: getIntrospectionQuery() } })
  ).json
  const sections = await preset.buildGeneratesSection({
    baseOutputDir: `${folder}/`,
    schema: parse(printSchema(buildClientSchema(data))),
    documents: [{ location: 'operations.graphql', document: parse(operations), rawSDL: operations }],
    config: {
      ...config,
      useTypeImports: true,
      strictScalars: true,
      scalars: {
        BigInt: { input: 'string | number', output: 'string' },
        Numeric: { input: 'string | number', output: 'string' },
        DateTime: 'string',
        JSON: 'unknown',
        GeoJSON: 'unknown',
      },
    },
    presetConfig: { fragmentMasking: false, persistedDocuments: true },
    plugins: [],
    pluginMap: {},
  })
  for (const section of sections) writeFileSync(section.filename, await codegen(section))
}

function compile(path: string): void {
  const compiler = join(root, 'node_modules/typescript/bin/tsc')
  const strict = ['--strict', '--exactOptionalPropertyTypes', '--noImplicitOverride', '--skipLibCheck']
  const modules = [
    '--module',
    'esnext',
    '--moduleResolution',
    'bundler',
    '--customConditions',
    '@basaltdb/source',
  ]
  const options = ['--noEmit', '--ignoreConfig', '--allowImportingTsExtensions', '--target', 'es2022']
  const { status, stdout } = spawnSync(
    process.execPath,
    [compiler, ...options, ...strict, ...modules, '--types', '', '--lib', 'es2022,dom,dom.iterable', path],
    { cwd: directory.path, encoding: 'utf8' },
  )
  expect(stdout).toBe('')
  expect(status).toBe(0)
}

test.each([
  ['texts', { documentMode: 'string' }],
  ['syntax trees', {}],
])(
  'graphql-codegen › generates %s that compile with the client, and run by their hash',
  async (name, config) => {
    const folder = join(directory.path, name.replace(' ', '-'))
    mkdirSync(folder)
    await generate(folder, config)
    writeFileSync(join(folder, 'program.ts'), program)
    compile(join(folder, 'program.ts'))

    const manifest = join(folder, 'persisted-documents.json')
    expect(Object.keys(JSON.parse(readFileSync(manifest, 'utf8')))).toHaveLength(2)
    const env = { BASALT_URL: app.url, BASALT_ADMIN_TOKEN: await app.adminToken() }
    const persisted = await basaltHere(['graphql', 'persist', manifest], { env })
    expect([persisted.code, persisted.stderr]).toEqual([0, ''])

    const network = createNetwork()
    const client = createClient({ url: app.url, auth: token, fetch: network.fetch })
    const { run } = (await import(join(folder, 'program.ts'))) as {
      run: (client: Client) => Promise<unknown>
    }
    const album = { id: '1', price: '12345678901234567.89', mood: 'calm', added: [] }
    const task = [{ id: 1, done: false, title: 'write', album }]
    expect(await run(client)).toEqual({ isTyped: true, all: { task }, named: task, count: 1 })
    // One request for each operation: the server lists their hashes.
    expect(network.requests).toHaveLength(3)
  },
)
