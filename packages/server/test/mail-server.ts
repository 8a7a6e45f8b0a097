import type { AddressInfo, Socket } from 'node:net'
import PostalMime, { type Email } from 'postal-mime'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import { certificate, certificateKey } from './certificate.ts'

/** Mail as the mail server received it. */
export interface ReceivedMail {
  readonly from: string
  readonly to: readonly string[]
  readonly isEncrypted: boolean
  /** True if the client requested addresses beyond ASCII. */
  readonly isInternational: boolean
  /** Name of the signed-in user. */
  readonly user: string | undefined
  /** Connection of the mail. */
  readonly connection: string
  readonly raw: string
  readonly content: Email
}

export interface MailServer extends AsyncDisposable {
  readonly port: number
  readonly mails: readonly ReceivedMail[]
  /** Number of connections opened so far, and of most connections at once. */
  readonly connections: { readonly opened: number; readonly most: number }
  /** Ends all connections without a reply. Not for encrypted ones: during a handshake Node would crash. */
  drop(): void
}

/** Reply that rejects a mail. */
export class Refusal extends Error {
  readonly responseCode: number

  constructor(responseCode: number, message: string) {
    super(message)
    this.responseCode = responseCode
  }
}

export interface MailServerOptions extends SMTPServerOptions {
  /** Throws to reject a mail at its end. The client waits for its promise. */
  readonly judge?: (mail: ReceivedMail) => void | Promise<void>
}

/** Opens a real mail server on this machine that keeps the mails it receives. */
export async function openMailServer({ judge, ...options }: MailServerOptions = {}): Promise<MailServer> {
  const mails: ReceivedMail[] = []
  const sockets = new Set<Socket>()
  let opened = 0
  let most = 0
  const server = new SMTPServer({
    authOptional: true,
    disableReverseLookup: true,
    closeTimeout: 50,
    key: certificateKey,
    cert: certificate,
    ...options,
    onData(stream, session, done) {
      void (async () => {
        const chunks: Buffer[] = []
        for await (const chunk of stream) chunks.push(chunk as Buffer)
        const raw = Buffer.concat(chunks)
        const { mailFrom, rcptTo, smtpUtf8 } = session.envelope
        const mail: ReceivedMail = {
          from: mailFrom === false ? '' : mailFrom.address,
          to: rcptTo.map(({ address }) => address),
          isEncrypted: session.secure,
          isInternational: smtpUtf8 === true,
          user: typeof session.user === 'string' ? session.user : undefined,
          connection: session.id,
          raw: raw.toString('utf8'),
          content: await PostalMime.parse(raw),
        }
        await judge?.(mail)
        mails.push(mail)
      })().then(
        () => done(),
        (error) => done(error),
      )
    },
  })
  server.server.on('connection', (socket: Socket) => {
    opened += 1
    sockets.add(socket)
    most = Math.max(most, sockets.size)
    socket.on('close', () => sockets.delete(socket))
  })
  // Clients that disconnect in the middle are part of the tests.
  server.on('error', () => undefined)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.server.address() as AddressInfo
  return {
    port,
    mails,
    connections: {
      get opened() {
        return opened
      },
      get most() {
        return most
      },
    },
    drop() {
      for (const socket of sockets) socket.destroy()
    },
    async [Symbol.asyncDispose]() {
      await new Promise<void>((resolve) => server.close(resolve))
    },
  }
}
