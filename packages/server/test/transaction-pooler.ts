import { connect, createServer, type Socket } from 'node:net'
import { createReader, failure, greeting, int32, text } from './postgres-wire.ts'

/**
 * Pooler in transaction mode, like PgBouncer: many clients share few sessions, and each transaction may run on another
 * one. It reports the process id of one session to all clients, and rejects requests that such a pooler cannot support.
 * It reads the Sync of a message only after the result of the message before, as PgBouncer may when packets are split.
 */
export interface TransactionPooler extends AsyncDisposable {
  readonly port: number
}

export interface PoolerOptions {
  /** Port of Postgres on loopback, which must trust the user. */
  readonly target: number
  readonly user: string
  readonly database: string
  readonly sessions: number
  /** Process id for clients, by default that of a session. */
  readonly processId?: number
}

interface Session {
  readonly socket: Socket
  client: Client | undefined
}

interface Client {
  readonly socket: Socket
  session: Session | undefined
  /** Messages that wait for a session. */
  held: Buffer[]
  /** Number of Sync and Query messages without their ReadyForQuery. */
  open: number
  /** Messages that have not been read yet. */
  unread: (readonly [type: string, frame: Buffer])[]
}

/** Parameters that a client may send at startup. */
const knownParameters = new Set(['user', 'database', 'application_name', 'client_encoding'])

export async function startTransactionPooler(options: PoolerOptions): Promise<TransactionPooler> {
  const idle: Session[] = []
  const waiting: Client[] = []
  const sockets = new Set<Socket>()
  let processId = 0
  let isClosed = false

  async function openSession(): Promise<Session> {
    const socket = connect({ port: options.target, host: '127.0.0.1', noDelay: true })
    sockets.add(socket)
    socket.on('error', () => undefined)
    const session: Session = { socket, client: undefined }
    await new Promise<void>((resolve, reject) => {
      socket.once('error', reject)
      socket.write(startupMessage({ user: options.user, database: options.database }))
      const readSession = createReader(true, (type, frame) => {
        if (type === 'K') processId = frame.readInt32BE(5)
        if (type === 'Z' && session.client === undefined) resolve()
        const { client } = session
        if (client === undefined) return
        client.socket.write(frame)
        if (type !== 'Z') return
        client.open -= 1
        if (client.open === 0 && String.fromCharCode(frame[5] ?? 0) === 'I') release(session)
        if (client.unread.length > 0) resume(client)
      })
      socket.on('data', readSession)
    })
    return session
  }

  function release(session: Session): void {
    if (session.client !== undefined) session.client.session = undefined
    session.client = undefined
    const next = waiting.shift()
    if (next === undefined) idle.push(session)
    else attach(next, session)
  }

  function attach(client: Client, session: Session): void {
    session.client = client
    client.session = session
    for (const frame of client.held.splice(0)) session.socket.write(frame)
  }

  /** Replaces the session of a client that disconnects in the middle of a transaction. */
  function forget(client: Client): void {
    const index = waiting.indexOf(client)
    if (index !== -1) waiting.splice(index, 1)
    const { session } = client
    if (session === undefined) return
    session.client = undefined
    session.socket.destroy()
    sockets.delete(session.socket)
    if (!isClosed) void openSession().then(release)
  }

  /** Reads the rest of a client's packet, whose session another client may have now. */
  function resume(client: Client): void {
    if (client.session === undefined) idle.unshift(...idle.splice(-1))
    for (const [type, frame] of client.unread.splice(0)) read(client, type, frame)
  }

  function read(client: Client, type: string, frame: Buffer): void {
    if (client.unread.length > 0 || (type === 'S' && client.open > 0)) client.unread.push([type, frame])
    else receive(client, type, frame)
  }

  function receive(client: Client, type: string, frame: Buffer): void {
    if (type === 'X') {
      client.socket.end()
      return
    }
    if (type === 'P' && frame[5] !== 0) {
      client.socket.end(failure('26000', 'named statements do not outlive a transaction'))
      return
    }
    if (type === 'S' || type === 'Q') client.open += 1
    if (client.session !== undefined) {
      client.session.socket.write(frame)
      return
    }
    client.held.push(frame)
    if (client.held.length > 1) return
    const session = idle.pop()
    if (session === undefined) waiting.push(client)
    else attach(client, session)
  }

  const listener = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket)
    const client: Client = { socket, session: undefined, held: [], open: 0, unread: [] }
    socket.on('error', () => undefined)
    socket.on('close', () => {
      sockets.delete(socket)
      forget(client)
    })
    const readClient = createReader(false, (type, frame) => {
      if (type !== '') {
        read(client, type, frame)
        return
      }
      const unknown = parametersOf(frame).find((name) => !knownParameters.has(name))
      if (unknown !== undefined) socket.end(failure('08P01', `unsupported startup parameter: ${unknown}`))
      else socket.write(greeting(options.processId ?? processId))
    })
    socket.on('data', readClient)
  })
  for (let count = 0; count < options.sessions; count += 1) idle.unshift(await openSession())
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  const address = listener.address()
  if (typeof address !== 'object' || address === null) throw new Error('the pooler has no port')
  return {
    port: address.port,
    async [Symbol.asyncDispose]() {
      isClosed = true
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => listener.close(resolve))
    },
  }
}

function parametersOf(startupFrame: Buffer): string[] {
  const texts = startupFrame.toString('utf8', 8).split('\0')
  return texts.filter((name, index) => index % 2 === 0 && name !== '')
}

function startupMessage(parameters: Readonly<Record<string, string>>): Buffer {
  const protocolVersion = 196_608
  const texts = Object.entries(parameters).flatMap(([name, value]) => [text(name), text(value)])
  const body = Buffer.concat([int32(protocolVersion), ...texts, Buffer.from([0])])
  return Buffer.concat([int32(body.length + 4), body])
}
