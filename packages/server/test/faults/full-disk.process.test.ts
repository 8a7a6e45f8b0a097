import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { closeSync, mkdirSync, openSync, rmSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { codeOf } from '../../src/lib/errors.ts'
import { command } from '../command.ts'
import { alice } from '../fixtures.ts'
import { contradictions, loadTable, startLoad } from '../load.ts'
import { sendRequest } from '../send-request.ts'
import { createDirectory, isRoot, runCommand, startServer } from '../server-process.ts'
import { userToken } from '../test-app.ts'
import { waitFor } from '../wait-for.ts'
import { isRunning, workersOf } from '../worker-processes.ts'

const token = userToken({ sub: alice })

/** Size of the disk. An empty cluster takes a quarter of it. */
const size = '256m'

/** Returns true if this process may mount a file system in a namespace of its own. */
function canMount(): boolean {
  if (!isRoot) return false
  const args = ['--mount', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt']
  return spawnSync('unshare', args).status === 0
}

/** Creates a file that takes the rest of the disk. */
function fill(path: string): void {
  const file = openSync(path, 'a')
  for (let length = 1024 * 1024; length >= 512; ) {
    try {
      writeSync(file, Buffer.alloc(length))
    } catch (error) {
      if (codeOf(error) !== 'ENOSPC') throw error
      length /= 2
    }
  }
  closeSync(file)
}

/** Writes an executable that runs `basalt` by another program. @returns its path */
function writeWrapper(directory: string, [program = '', ...args]: readonly string[]): string {
  const path = join(directory, `${program}.mjs`)
  const line = [program, ...args, process.execPath, command]
  writeFileSync(
    path,
    `process.execve('/usr/bin/${program}', [...${JSON.stringify(line)}, ...process.argv.slice(2)], process.env)`,
  )
  return path
}

// Other accounts, and other systems, have no mounts of their own.
test.skipIf(!canMount())(
  'faults › two workers on a full disk lose nothing acknowledged, respond 503, and write again when there is space',
  async () => {
    await using directory = createDirectory()
    const disk = join(directory.path, 'disk')
    mkdirSync(disk)
    // The mount belongs to the server alone, and ends with its processes.
    const mount = `mount -t tmpfs -o size=${size},mode=755 tmpfs ${disk} && exec "$@"`
    const executable = writeWrapper(directory.path, ['unshare', '--mount', 'sh', '-c', mount, 'sh'])
    const config = {
      'server.data_dir': join(disk, 'data'),
      'server.workers': '2',
      'database.require_rls': 'false',
    }
    await using server = await startServer({ config, executable })
    const filler = join('/proc', String(server.pid), 'root', disk, 'filler')
    const enter = ['nsenter', '--mount', `--target=${server.pid}`]
    const inside = { config, executable: writeWrapper(directory.path, enter) }
    const sql = (text: string) => runCommand(['sql', '--json', text], inside)
    expect(await sql(loadTable)).toMatchObject({ code: 0 })
    const workers = workersOf(server)

    const load = startLoad({ urls: [server.url], token, clients: 4, prefix: 'full' })
    await waitFor('load', () => load.count(201) > 50)
    fill(filler)
    const write = () =>
      sendRequest('POST', `${server.url}/api/collections/item`, {
        token,
        body: { key: randomBytes(200_000).toString('base64') },
      })
    const refusal = await waitFor('a refused write', async () => {
      const reply = await write()
      return reply.status !== 201 && reply
    })
    expect({ body: refusal.json, retryAfter: refusal.headers['retry-after'] }).toEqual({
      body: {
        ...{ code: 503, error: 'database_full', message: 'the database is out of space' },
        doc_url: `${server.url}/docs/errors/database_full`,
      },
      retryAfter: '5',
    })
    expect((await sendRequest('GET', `${server.url}/api/collections/item?perPage=1`, { token })).status).toBe(
      200,
    )
    // PostgreSQL ends when it cannot write its log, and may not start on the full disk.
    const messages =
      "select pg_logical_emit_message(false, 'fill', repeat('x', 1000000)) from generate_series(1, 200)"
    expect(await sql(messages)).toMatchObject({ code: 1 })
    const stopped = 'the embedded PostgreSQL has stopped; starting it again'
    await waitFor('the end of PostgreSQL', () => server.log().some(({ msg }) => msg === stopped))
    const before = load.answered
    await waitFor('more responses', () => load.answered > before + 200)
    expect(workers.filter(isRunning)).toEqual(workers)

    rmSync(filler)
    const created = load.count(201)
    await waitFor('writes', () => load.count(201) > created + 50)
    const history = await load.stop()
    expect(history.malformed).toEqual([])
    expect([...history.failures]).toEqual([])
    expect([...history.statuses.keys()].sort()).toEqual([200, 201, 503])
    const { stdout } = await sql(
      "select key, count(*)::int as count from item where key like 'full-%' group by key",
    )
    const rows: { key: string; count: number }[] = JSON.parse(stdout)
    expect(contradictions(history, new Map(rows.map(({ key, count }) => [key, count])))).toEqual([])
    expect(workers.filter(isRunning)).toEqual(workers)
    const health = (await sendRequest('GET', `${server.url}/health`)).json
    expect(health).toEqual({ status: 'ok', database: 'ok', workers: { serving: 2, total: 2 } })
    expect(server.log().filter(({ kind }) => kind === 'internal_error')).toEqual([])
    expect(await server.stop()).toEqual({ code: 0, signal: null })
  },
  300_000,
)
