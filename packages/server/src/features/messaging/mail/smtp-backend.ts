import { createHash, randomUUID } from 'node:crypto'
import { createRequire } from 'node:module'
import type { NodemailerError } from 'nodemailer'
import type { Clock } from '../../../lib/clock.ts'
import { domainOf, parseSender } from '../../../lib/mail-sender.ts'
import type { MailBackend } from './backend.ts'
import type { EmailConfig } from './config.ts'
import { MailRefused } from './refusal.ts'

export interface SmtpSettings {
  readonly from: string
  readonly smtp: EmailConfig['smtp']
  readonly clock: Clock
  readonly limits?: SmtpLimits
  /** Certificate (PEM) to trust instead of the public authorities, for tests. */
  readonly trust?: string
}

export interface SmtpLimits {
  /** Time until the server has greeted and, if required, the connection is encrypted. */
  readonly connectMs: number
  /** Time for a whole mail, including the wait for a free connection. */
  readonly messageMs: number
}

const usualLimits: SmtpLimits = { connectMs: 10_000, messageMs: 30_000 }

const require = createRequire(import.meta.url)

/** Creates a backend that sends mail through a mail server, over a few persistent connections. */
export function createSmtpBackend(settings: SmtpSettings): MailBackend {
  const { clock, limits = usualLimits } = settings
  const sender = parseSender(settings.from)
  const transport = openTransport(settings)
  return {
    async send({ to, subject, html, text, from: customSender, replyTo }, { id = randomUUID() } = {}) {
      const from = customSender === undefined ? sender : parseSender(customSender)
      try {
        await transport.sendMail({
          from,
          ...(replyTo === undefined ? {} : { replyTo }),
          // As an object it is one address, whatever commas or semicolons it holds.
          to: { name: '', address: to },
          subject,
          text,
          html,
          messageId: `<${messageName(id)}@${domainOf(from)}>`,
          date: clock.now(),
          // RFC 3834: this header prevents absence notices.
          headers: { 'Auto-Submitted': 'auto-generated' },
          signal: AbortSignal.timeout(limits.messageMs),
        })
      } catch (error) {
        throw translate(error as NodemailerError)
      }
    },
    async close() {
      transport.close()
    },
  }
}

/** Connects and signs in as for a mail, and sends none. @throws Error with the reason */
export async function verifySmtp(settings: Pick<SmtpSettings, 'smtp' | 'limits' | 'trust'>): Promise<void> {
  const transport = openTransport(settings)
  try {
    await transport.verify()
  } finally {
    transport.close()
  }
}

function openTransport({
  smtp,
  limits = usualLimits,
  trust,
}: Pick<SmtpSettings, 'smtp' | 'limits' | 'trust'>) {
  // Only a server that sends by SMTP loads the library.
  const { createTransport }: typeof import('nodemailer') = require('nodemailer')
  return createTransport({
    pool: true,
    host: smtp.host,
    port: smtp.port,
    maxConnections: smtp.max_connections,
    ...encryption[smtp.security],
    tls: { minVersion: 'TLSv1.2', ...(trust === undefined ? {} : { ca: trust }) },
    // With a user name, a server that offers no sign-in is the wrong one. Without this option, mail would be sent
    // unauthenticated.
    ...(smtp.username === '' ? {} : { auth: { user: smtp.username, pass: smtp.password }, forceAuth: true }),
    connectionTimeout: limits.connectMs,
    dnsTimeout: limits.connectMs,
    socketTimeout: limits.messageMs,
    socketCloseTimeout: 1000,
    // The caller retries.
    maxRequeues: 1,
    disableFileAccess: true,
    disableUrlAccess: true,
  })
}

const encryption = {
  starttls: { secure: false, requireTLS: true },
  tls: { secure: true },
  none: { secure: false, ignoreTLS: true },
} as const

/** Returns the part of a Message-ID before the `@` (RFC 5322 §3.6.4). */
function messageName(id: string): string {
  return /^[\w-]{1,64}$/.test(id) ? id : createHash('sha256').update(id).digest('hex')
}

/** Replies that reject the sign-in, not the mail (RFC 4954 §6). The operator can fix it. */
const signInReplies: readonly number[] = [530, 534, 535, 538]

/**
 * Translates an error. The server's response to this mail is final, but not its response to a connection or
 * sign-in.
 */
function translate(error: NodemailerError): Error {
  if (error.code === 'EABORT') return new Error('the mail server took too long', { cause: error })
  const isAboutMail = error.code === 'EENVELOPE' || error.code === 'EMESSAGE'
  // Without a server response, the client rejected the mail: it is too large for the server, or has an invalid
  // address.
  const isFinal = error.permanent ?? error.responseCode === undefined
  if (!isAboutMail || !isFinal || signInReplies.includes(error.responseCode ?? 0)) return error
  return new MailRefused(error.message, { cause: error })
}
