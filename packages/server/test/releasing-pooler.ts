import { connect, createServer, type Socket } from 'node:net'
import { createReader, greeting, int32, message, text } from './postgres-wire.ts'

/**
 * Pooler that releases a session at each Execute outside of a block of `begin` and `commit`. So the statements of one
 * message are several transactions on several sessions.
 */
export interface ReleasingPooler extends AsyncDisposable {
  readonly port: number
  /** True if a block stays on one session. */
  keepsBlocks: boolean
}

export interface ReleasingPoolerOptions {
  /** Port of Postgres on loopback, which must trust the user. */
  readonly target: number
  readonly user: string
  readonly database: string
  readonly sessions: number
  readonly keepsBlocks: boolean
}

interface Session {
  readonly socket: Socket
  receive: ((type: string, frame: Buffer) => void) | undefined
}

interface Client {
  readonly socket: Socket
  readonly frames: AsyncIterable<readonly [string, Buffer]>
  /** Session that receives the rows of a `copy … from stdin`. */
  copyTo: Session | undefined
}

/** Outcome of a statement. */
interface End {
  readonly failed: boolean
  readonly status: string
}

const sync = message('S', Buffer.alloc(0))

export async function startReleasingPooler(options: ReleasingPoolerOptions): Promise<ReleasingPooler> {
  const idle: Session[] = []
  const waiting: ((session: Session) => void)[] = []
  const sockets = new Set<Socket>()
  const pooler = { keepsBlocks: options.keepsBlocks }

  async function openSession(): Promise<Session> {
    const socket = connect({ port: options.target, host: '127.0.0.1', noDelay: true })
    sockets.add(socket)
    const session: Session = { socket, receive: undefined }
    const read = createReader(true, (type, frame) => session.receive?.(type, frame))
    socket.on('data', read)
    const opened = answered(session)
    const parameters = ['user', options.user, 'database', options.database, ''].map(text)
    const body = Buffer.concat([int32(196_608), ...parameters])
    socket.write(Buffer.concat([int32(body.length + 4), body]))
    await opened
    return session
  }

  /** Takes the least recently used session. */
  function take(): Promise<Session> {
    const session = idle.shift()
    return session === undefined ? new Promise((resolve) => waiting.push(resolve)) : Promise.resolve(session)
  }

  function give(session: Session): void {
    const next = waiting.shift()
    if (next === undefined) idle.push(session)
    else next(session)
  }

  /** Resolves at ReadyForQuery, which is not forwarded. */
  function answered(session: Session, pass: (frame: Buffer) => void = () => undefined): Promise<End> {
    let failed = false
    return new Promise((resolve) => {
      session.receive = (type, frame) => {
        if (type === 'Z') resolve({ failed, status: String.fromCharCode(frame[5] ?? 0) })
        else pass(frame)
        failed ||= type === 'E'
      }
    })
  }

  async function serve(client: Client): Promise<void> {
    let session: Session | undefined
    let status = 'I'
    let isSkipping = false
    const pass = (frame: Buffer) => void client.socket.write(frame)
    const run = async (on: Session, sent: Buffer) => {
      client.copyTo = on
      const end = answered(on, pass)
      on.socket.write(sent)
      const { failed, status: reached } = await end
      status = reached
      if (status !== 'I' && !pooler.keepsBlocks) {
        const ended = answered(on)
        on.socket.write(message('Q', text('rollback')))
        status = (await ended).status
      }
      if (status === 'I') {
        give(on)
        session = undefined
      }
      return failed
    }
    for await (const [type, frame] of client.frames) {
      if (type === 'X') break
      if (type === 'S') {
        if (session !== undefined && !isSkipping) await run(session, sync)
        isSkipping = false
        client.socket.write(message('Z', Buffer.from(status)))
      } else if (!isSkipping) {
        session ??= await take()
        if (type === 'E') isSkipping = await run(session, Buffer.concat([frame, sync]))
        else if (type === 'Q') {
          await run(session, frame)
          client.socket.write(message('Z', Buffer.from(status)))
        } else session.socket.write(frame)
      }
    }
    if (session !== undefined) await run(session, message('Q', text('rollback')))
  }

  const listener = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket)
    const frames: (readonly [string, Buffer])[] = []
    let wake = (): void => undefined
    const add = (type: string, frame: Buffer) => {
      frames.push([type, frame])
      wake()
    }
    async function* read() {
      for (;;) {
        const frame = frames.shift()
        if (frame !== undefined) yield frame
        else await new Promise<void>((resolve) => (wake = resolve))
      }
    }
    const client: Client = { socket, frames: read(), copyTo: undefined }
    socket.on('error', () => undefined)
    socket.on('close', () => add('X', Buffer.alloc(0)))
    socket.on(
      'data',
      createReader(false, (type, frame) => {
        if (type === '') socket.write(greeting(1))
        else if ('dcf'.includes(type)) client.copyTo?.socket.write(frame)
        else add(type, frame)
      }),
    )
    void serve(client).finally(() => socket.destroy())
  })
  for (let count = 0; count < options.sessions; count += 1) idle.push(await openSession())
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  const address = listener.address()
  if (typeof address !== 'object' || address === null) throw new Error('the pooler has no port')
  return Object.assign(pooler, {
    port: address.port,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => listener.close(resolve))
    },
  })
}
