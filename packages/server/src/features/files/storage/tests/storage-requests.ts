import { randomUUID } from 'node:crypto'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  createTestApp,
  createTestDatabase,
  envelope,
  type TestApp,
  type TestDatabase,
  type TestResponse,
  userToken,
} from '../../../../../test/test-app.ts'
import { waitFor } from '../../../../../test/wait-for.ts'

/** Two nodes on one database and one directory. */
export interface StorageApps extends AsyncDisposable {
  readonly app: TestApp
  readonly second: TestApp
  readonly database: TestDatabase
  readonly directory: string
  /** Lists the files in the store. */
  listFiles(): Promise<string[]>
  /** Lists the files added since then. Others may have been removed meanwhile. */
  filesSince(before: readonly string[]): Promise<string[]>
}

export async function createStorageApps(config: Readonly<Record<string, string>> = {}): Promise<StorageApps> {
  const directory = await mkdtemp(join(tmpdir(), 'basalt-storage-'))
  const database = await createTestDatabase()
  const settings = { 'storage.enabled': 'true', 'storage.local_path': directory, ...config }
  const app = await createTestApp({ database, config: settings })
  const second = await createTestApp({ database, config: settings })
  const listFiles = async () => {
    const names = await readdir(directory, { recursive: true, withFileTypes: true })
    return names.flatMap((entry) => (entry.isFile() ? [entry.name] : [])).sort()
  }
  return {
    app,
    second,
    database,
    directory,
    listFiles,
    filesSince: async (before) => (await listFiles()).filter((name) => !before.includes(name)),
    async [Symbol.asyncDispose]() {
      await second[Symbol.asyncDispose]()
      await app[Symbol.asyncDispose]()
      await database[Symbol.asyncDispose]()
      await rm(directory, { recursive: true, force: true })
    },
  }
}

let count = 0

export async function createBucket(app: TestApp, settings: object = {}): Promise<string> {
  count += 1
  const name = `bucket-${count}`
  const token = await app.adminToken()
  const response = await app.request('POST', '/api/storage/buckets', { token, body: { name, ...settings } })
  if (response.status !== 201) throw new Error(response.text)
  return name
}

export async function applyTemplate(app: TestApp, template: string, body?: object): Promise<TestResponse> {
  const token = await app.adminToken()
  return await app.request('POST', `/api/admin/rls/templates/storage-objects/${template}`, { token, body })
}

/** Returns a user of whom nothing is stored yet. */
export function newUser(): { readonly id: string; readonly token: string } {
  const id = randomUUID()
  return { id, token: userToken({ sub: id }) }
}

export async function put(
  app: TestApp,
  path: string,
  token: string | undefined,
  body: string | Uint8Array<ArrayBuffer> | ReadableStream,
  headers: Readonly<Record<string, string>> = {},
): Promise<TestResponse> {
  return await exchange(app, 'PUT', path, token, body, headers)
}

export async function get(
  app: TestApp,
  path: string,
  token?: string,
  headers: Readonly<Record<string, string>> = {},
  method = 'GET',
): Promise<TestResponse> {
  return await exchange(app, method, path, token, undefined, headers)
}

/** Sends a form as `fetch` writes it. */
export async function sendForm(
  app: TestApp,
  bucket: string,
  token: string | undefined,
  form: FormData,
): Promise<TestResponse> {
  return await exchange(app, 'POST', `/${bucket}`, token, form, {})
}

export async function exchange(
  { url }: Pick<TestApp, 'url'>,
  method: string,
  path: string,
  token: string | undefined,
  body: RequestInit['body'] | undefined,
  headers: Readonly<Record<string, string>>,
): Promise<TestResponse> {
  const response = await fetch(`${url}/api/storage${path}`, {
    method,
    headers: { ...(token === undefined ? {} : { authorization: `Bearer ${token}` }), ...headers },
    ...(body === undefined ? {} : { body, duplex: 'half' }),
  })
  const text = await response.text()
  return {
    status: response.status,
    headers: response.headers,
    text,
    get json() {
      return JSON.parse(text)
    },
  }
}

/** Waits until so many requests of the database wait for the locks of others. */
export async function untilWaiting({ sql }: TestApp, count: number): Promise<void> {
  await waitFor(`${count} requests to wait for locks`, async () => {
    const waiting = await sql(
      `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    )
    return waiting.length === count
  })
}

/** Returns the status and the error of a response. */
export function problem(response: TestResponse): [status: number, message: unknown, error: unknown] {
  const { code, message, error, ...rest } = envelope(response)
  if (code !== response.status || Object.keys(rest).length > 0) throw new Error(response.text)
  return [response.status, message, error]
}
