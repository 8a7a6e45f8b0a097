import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { PGlite, type PGliteOptions } from '@electric-sql/pglite'
import { vector } from '@electric-sql/pglite-pgvector'
import { postgis } from '@electric-sql/pglite-postgis'
import { inject } from 'vitest'
import { codeOf } from '../src/lib/errors.ts'
import { createReader, message } from './postgres-wire.ts'
import { startTransactionPooler } from './transaction-pooler.ts'
import { waitFor } from './wait-for.ts'

const extensions = { postgis, vector }

export type PgliteExtension = keyof typeof extensions

/** PostgreSQL with an extension, installed or available, in this process, for many clients. */
export interface PgliteServer extends AsyncDisposable {
  /** Superuser's URL. */
  readonly url: string
}

const user = 'postgres'
const database = 'postgres'

/** Starts PGlite, whose single session is shared by a pooler in transaction mode. */
export async function startPgliteServer(extension: PgliteExtension): Promise<PgliteServer> {
  const pglite = await createPglite(extension)
  const session = await serveSession(pglite)
  const pooler = await startTransactionPooler({
    target: session.port,
    user,
    database,
    sessions: 1,
    // With a single session, every client would receive the right process id and mistake it for its own.
    processId: 1,
  })
  return {
    url: `postgresql://${user}@127.0.0.1:${pooler.port}/${database}`,
    async [Symbol.asyncDispose]() {
      await pooler[Symbol.asyncDispose]()
      await session[Symbol.asyncDispose]()
      await pglite.close()
    },
  }
}

/**
 * SQL that prepares a database with the extension. Creating PostGIS takes PGlite five seconds of processor time: it
 * lists all names of the library for each function.
 */
export const extensionSetups: Readonly<Record<PgliteExtension, string>> = {
  // The schema is not on the search path, as in many databases.
  postgis: 'create schema "Ext 1"; create extension postgis schema "Ext 1"',
  vector: '',
}

function createPglite(extension: PgliteExtension): Promise<PGlite> {
  const options = { extensions: { [extension]: extensions[extension] } }
  const template = inject('pgliteTemplate')
  const setup = extensionSetups[extension]
  const createEmpty = () => createOnce(template, options, () => PGlite.create(options))
  if (setup === '') return createEmpty()
  return createOnce(`${template}.${extension}`, options, async () => {
    const pglite = await createEmpty()
    await pglite.exec(setup)
    return pglite
  })
}

/**
 * Creates the files once per run. The other workers wait for them: initdb alone takes two seconds of processor time.
 */
async function createOnce(
  files: string,
  options: PGliteOptions,
  create: () => Promise<PGlite>,
): Promise<PGlite> {
  if (isFirst(files)) {
    const pglite = await create()
    const unfinished = `${files}.unfinished`
    writeFileSync(unfinished, Buffer.from(await (await pglite.dumpDataDir('none')).arrayBuffer()))
    renameSync(unfinished, files)
    return pglite
  }
  await waitFor(`${files}, which another test file makes`, () => existsSync(files), creationMs)
  return await PGlite.create({ ...options, loadDataDir: new Blob([readFileSync(files)]) })
}

/** Time limit of the creation. PGlite computes in the process of the test, which takes minutes under load. */
const creationMs = 240_000

/** Returns true if no other worker has created this file. */
function isFirst(files: string): boolean {
  try {
    mkdirSync(`${files}.taken`)
    return true
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false
    throw error
  }
}

/** Types of messages that end a request: Startup, Sync, Query and Terminate. */
const endings: ReadonlySet<string> = new Set(['', 'S', 'Q', 'X'])

/** Types of messages that end a COPY: CopyDone and CopyFail. */
const copyEndings: ReadonlySet<string> = new Set(['c', 'f'])

/**
 * Returns true for a COPY from the client. PGlite needs its rows together with the command, so the server requests them
 * first.
 */
function isCopyIn(type: string, frame: Buffer): boolean {
  return type === 'Q' && /^copy\b.*\bfrom stdin/i.test(frame.toString('utf8', 5))
}

const copyInResponse = message('G', Buffer.from([0, 0, 0]))

/** Serves the session on a port, to one client. */
async function serveSession(pglite: PGlite) {
  const sockets = new Set<Socket>()
  const listener = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    let before: Promise<unknown> = Promise.resolve()
    const frames: Buffer[] = []
    let isCopying = false
    const read = createReader(false, (type, frame) => {
      frames.push(frame)
      if (isCopyIn(type, frame)) {
        isCopying = true
        socket.write(copyInResponse)
        return
      }
      // Messages up to a Sync are run together: after an error PostgreSQL skips the rest.
      if (!(isCopying ? copyEndings : endings).has(type)) return
      isCopying = false
      const whole = Buffer.concat(frames.splice(0))
      before = before.then(async () => socket.write(withOneReady(await pglite.execProtocolRaw(whole))))
    })
    socket.on('data', read)
  })
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  const address = listener.address()
  if (typeof address !== 'object' || address === null) throw new Error('the session has no port')
  return {
    port: address.port,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => listener.close(resolve))
    },
  }
}

/**
 * Drops a repeated ReadyForQuery. After an error PGlite sends one at once and another at the Sync, and the pooler would
 * count both.
 */
function withOneReady(answer: Uint8Array): Buffer {
  const frames: { type: string; frame: Buffer }[] = []
  createReader(true, (type, frame) => frames.push({ type, frame }))(Buffer.from(answer))
  const last = frames.findLastIndex(({ type }) => type === 'Z')
  return Buffer.concat(
    frames
      .filter(({ type }, index) => type !== 'G' && (type !== 'Z' || index === last))
      .map(({ frame }) => frame),
  )
}
