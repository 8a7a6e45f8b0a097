import { createHash, randomBytes } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { basalt } from '../command.ts'
import { sendRequest } from '../send-request.ts'
import { createDirectory, type ServerProcess, startServer } from '../server-process.ts'
import { createTestDatabase, type TestDatabase } from '../test-app.ts'
import { testAdminPassword, testSecret } from '../test-config.ts'
import { waitFor } from '../wait-for.ts'

let database: TestDatabase
let directory: ReturnType<typeof createDirectory>
let settings: Readonly<Record<string, string>>

beforeAll(async () => {
  database = await createTestDatabase()
  directory = createDirectory()
  settings = {
    'database.url': database.url,
    'storage.enabled': 'true',
    'storage.local_path': join(directory.path, 'files'),
  }
})
afterAll(async () => {
  await directory[Symbol.asyncDispose]()
  await database[Symbol.asyncDispose]()
})

async function signIn({ url }: ServerProcess): Promise<string> {
  const { json } = await sendRequest('POST', `${url}/api/admin/auth`, {
    body: { password: testAdminPassword },
  })
  return (json as { token: string }).token
}

const hashOf = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

/** Uploads new objects, and replaces and deletes others, until the server has ended. Records acknowledged changes. */
async function work(server: ServerProcess, token: string, worker: string, acknowledged: Map<string, string>) {
  const headers = { authorization: `Bearer ${token}` }
  for (let count = 0; ; count += 1) {
    const body = randomBytes(100_000)
    const path = `${worker}/${count}`
    const url = `${server.url}/api/storage/work`
    try {
      const made = await fetch(`${url}/${path}`, { method: 'PUT', headers, body })
      if (made.status !== 201) throw new Error(await made.text())
      acknowledged.set(path, hashOf(body))
      await fetch(`${url}/${worker}-again`, { method: 'PUT', headers, body })
      await fetch(`${url}/${worker}-again`, { method: 'DELETE', headers })
    } catch {
      return
    }
  }
}

test.each(['1', '2'])(
  'storage › a server of %s workers killed during uploads loses no acknowledged object and leaves no bytes behind',
  async (workers) => {
    const acknowledged = new Map<string, string>()
    const config = { ...settings, 'server.workers': workers }
    for (let round = 1; round <= 2; round += 1) {
      await using server = await startServer({ config })
      const token = await signIn(server)
      await sendRequest('POST', `${server.url}/api/storage/buckets`, { token, body: { name: 'work' } })
      const uploads = ['a', 'b', 'c', 'd'].map((name) =>
        work(server, token, `${workers}-${round}${name}`, acknowledged),
      )
      const before = acknowledged.size
      await waitFor('uploads to be answered', () => acknowledged.size >= before + 20)
      await server.stop('SIGKILL')
      await Promise.all(uploads)
    }
    // Expires interrupted uploads at once.
    await database.sql(`update basalt.stored_bytes set expires_at = now() where state = 'staged'`)

    await using server = await startServer({ config })
    const token = await signIn(server)
    for (const [path, hash] of acknowledged) {
      const response = await fetch(`${server.url}/api/storage/work/${path}`, {
        headers: { authorization: `Bearer ${token}` },
      })
      expect([path, hashOf(new Uint8Array(await response.arrayBuffer()))]).toEqual([path, hash])
    }
    await sendRequest('POST', `${server.url}/api/admin/jobs`, { token, body: { type: 'storage_reaper' } })
    await waitFor('the reaper', async () => {
      const rows = await database.sql(`select from basalt.stored_bytes where state <> 'committed'`)
      return rows.length === 0
    })
    const env = {
      BASALT_DATABASE_URL: database.url,
      BASALT_STORAGE_LOCAL_PATH: settings['storage.local_path'] ?? '',
      BASALT_AUTH_JWT_SECRET: testSecret,
    }
    const [count] = await database.sql<{ objects: number; bytes: number }>(
      'select count(*)::int as objects, sum(size)::int as bytes from basalt.objects',
    )
    expect(await basalt(['storage', 'check'], { env })).toEqual({
      code: 0,
      stderr: '',
      stdout: `${count?.objects} objects, ${count?.bytes} bytes\n0 lost\n0 left over\n0 to be removed, 0 uploads not finished\n`,
    })
    expect(await readdir(join(settings['storage.local_path'] ?? '', 'unfinished'))).toEqual([])
  },
  120_000,
)
