import type { Logger } from 'pino'
import type { MailBackend } from './backend.ts'

const notice = 'mail, not sent: email.backend is log'

/** Writes mail to the log instead of sending it. Links and codes sign their reader in, so they show only in development. */
export function createLogBackend(log: Logger, isDevelopment: boolean): MailBackend {
  return {
    async send({ to, subject, text }) {
      // As part of the message its lines stay lines on a terminal, and its links can be clicked.
      if (isDevelopment) log.info({ to, subject }, `${notice}\n\n${text}\n`)
      else log.info({ to, subject: redact(subject) }, notice)
    },
    async close() {},
  }
}

/** Addresses of pages, numbers as long as a code, and words too long for any language. */
const telltale = /\S+:\/\/\S*|\d[\d -]{2,}\d|[\w-]{25,}/g

function redact(subject: string): string {
  return subject.replace(telltale, '[redacted]')
}
