import type { Logger } from 'pino'
import type { MailBackend } from './backend.ts'

const notice = 'mail, not sent: email.backend is log'

/**
 * Creates a backend that logs mail instead of sending it. Links and codes can sign a reader in, so they are
 * logged only in development.
 */
export function createLogBackend(log: Logger, isDevelopment: boolean): MailBackend {
  return {
    async send({ to, subject, text }) {
      // In the message itself, its lines stay lines on a terminal, and its links can be clicked.
      if (isDevelopment) log.info({ to, subject }, `${notice}\n\n${text}\n`)
      else log.info({ to, subject: redact(subject) }, notice)
    },
    async close() {},
  }
}

/** Patterns of page addresses, numbers as long as a code, and words too long for any language. */
const telltale = /\S+:\/\/\S*|\d[\d -]{2,}\d|[\w-]{25,}/g

function redact(subject: string): string {
  return subject.replace(telltale, '[redacted]')
}
