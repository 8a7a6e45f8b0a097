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

/** PostgreSQL with an extension, or one to create, in this process, for many clients. */
export interface PgliteServer extends AsyncDisposable {
  /** A superuser's URL. */
  readonly url: string
}

const user = 'postgres'
const database = 'postgres'

/** PGlite has one session; a pooler in transaction mode shares it. */
export async function startPgliteServer(extension: PgliteExtension): Promise<PgliteServer> {
  const pglite = await createPglite(extension)
  const session = await serveSession(pglite)
  const pooler = await startTransactionPooler({
    target: session.port,
    user,
    database,
    sessions: 1,
    // With a single session every client would receive the right one, and take it for its own.
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
 * What an extension's database has from the start. To create PostGIS takes PGlite five seconds of processor time: it lists
 * all names of the library for each function.
 */
export const extensionSetups: Readonly<Record<PgliteExtension, string>> = {
  // Not on the search path, as many keep their extensions.
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
 * The first of a run leaves its files to the others, which wait for them: initdb alone takes two seconds of processor
 * time.
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

/** PGlite computes in the process of the test, and takes minutes on a busy machine. */
const creationMs = 240_000

/** Whether no other worker has asked for this file. */
function isFirst(files: string): boolean {
  try {
    mkdirSync(`${files}.taken`)
    return true
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false
    throw error
  }
}

/** Startup, Sync, Query and Terminate. */
const endings: ReadonlySet<string> = new Set(['', 'S', 'Q', 'X'])

/** CopyDone and CopyFail. */
const copyEndings: ReadonlySet<string> = new Set(['c', 'f'])

/** PGlite wants the rows of a COPY together with the command, so they are asked for on its behalf. */
function isCopyIn(type: string, frame: Buffer): boolean {
  return type === 'Q' && /^copy\b.*\bfrom stdin/i.test(frame.toString('utf8', 5))
}

const copyInResponse = message('G', Buffer.from([0, 0, 0]))

/** The session on a port, for one client. */
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
      // Up to its Sync a message is run as one: after an error PostgreSQL skips the rest of it.
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

/** After an error PGlite says at once that it is ready, and again at the Sync: the pooler would count both. */
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
