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
  /** Certificate (PEM) to trust instead of the public authorities; for tests. */
  readonly trust?: string
}

export interface SmtpLimits {
  /** Until the server has greeted and, where asked for, the connection is encrypted. */
  readonly connectMs: number
  /** For a mail as a whole, waiting for a free connection included. */
  readonly messageMs: number
}

const usualLimits: SmtpLimits = { connectMs: 10_000, messageMs: 30_000 }

const require = createRequire(import.meta.url)

/** Mail through a mail server, over a few connections that are kept. */
export function createSmtpBackend(settings: SmtpSettings): MailBackend {
  const { smtp, clock, limits = usualLimits, trust } = settings
  const sender = parseSender(settings.from)
  // Only a server that sends by SMTP pays for the library.
  const { createTransport }: typeof import('nodemailer') = require('nodemailer')
  const transport = createTransport({
    pool: true,
    host: smtp.host,
    port: smtp.port,
    maxConnections: smtp.max_connections,
    ...encryption[smtp.security],
    tls: { minVersion: 'TLSv1.2', ...(trust === undefined ? {} : { ca: trust }) },
    // With a user name a server that offers no sign-in is the wrong one: without this, mail would go out unsigned.
    ...(smtp.username === '' ? {} : { auth: { user: smtp.username, pass: smtp.password }, forceAuth: true }),
    connectionTimeout: limits.connectMs,
    dnsTimeout: limits.connectMs,
    socketTimeout: limits.messageMs,
    socketCloseTimeout: 1000,
    // Trying again is up to the caller.
    maxRequeues: 1,
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  return {
    async send({ to, subject, html, text, from: given, replyTo }, { id = randomUUID() } = {}) {
      const from = given === undefined ? sender : parseSender(given)
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
          // RFC 3834: absence notices are not sent in answer.
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

const encryption = {
  starttls: { secure: false, requireTLS: true },
  tls: { secure: true },
  none: { secure: false, ignoreTLS: true },
} as const

/** Form of the part of a Message-ID before the `@` (RFC 5322 §3.6.4). */
function messageName(id: string): string {
  return /^[\w-]{1,64}$/.test(id) ? id : createHash('sha256').update(id).digest('hex')
}

/** RFC 4954 §6: the sign-in is at fault, which the operator can mend; the mail is not. */
const signInReplies: readonly number[] = [530, 534, 535, 538]

/** The server's answer to this mail is final; to a connection or sign-in it is not. */
function translate(error: NodemailerError): Error {
  if (error.code === 'EABORT') return new Error('the mail server took too long', { cause: error })
  const isAboutMail = error.code === 'EENVELOPE' || error.code === 'EMESSAGE'
  // Without an answer it was our own side that refused: a mail too large for the server, an address it cannot take.
  const isFinal = error.permanent ?? error.responseCode === undefined
  if (!isAboutMail || !isFinal || signInReplies.includes(error.responseCode ?? 0)) return error
  return new MailRefused(error.message, { cause: error })
}
