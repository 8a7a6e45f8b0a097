import { createHash } from 'node:crypto'
import type { Logger } from 'pino'
import type { Outbound } from './outbound.ts'

/** Time limit of a range query. A person waits for it. */
const timeoutMs = 1500
/** Maximum size of a response. A padded range has about 1,000 lines of 40 bytes. */
const replyLimit = 256 * 1024

/** Passwords of known data breaches. */
export interface BreachedPasswords {
  /** Returns true if the password is among them. An unavailable service gives false, with a line in the log. */
  includes(password: string): Promise<boolean>
}

/** Passwords of no breach, while `auth.refuse_breached_passwords` is off. */
export const noBreachedPasswords: BreachedPasswords = { includes: async () => false }

export interface RangeOptions {
  /** URL to which the first five digits of a hash are appended. */
  readonly url: string
  readonly outbound: Outbound
  readonly log: Logger
}

/**
 * Creates a client of the range protocol of Have I Been Pwned. Five hexadecimal digits of the password's SHA-1
 * leave the server, and the service returns all hashes that begin with them (k-anonymity). Padding hides their
 * number from an observer.
 */
export function createBreachedPasswords({ url, outbound, log }: RangeOptions): BreachedPasswords {
  return {
    async includes(password) {
      const hash = createHash('sha1').update(password).digest('hex').toUpperCase()
      const { status, text, error } = await outbound.post({
        url: `${url.replace(/\/$/, '')}/${hash.slice(0, 5)}`,
        method: 'GET',
        headers: { 'add-padding': 'true', 'user-agent': 'basalt', accept: 'text/plain' },
        body: '',
        timeoutMs,
        replyLimit,
      })
      if (status === 200 && error === undefined) return holds(text, hash.slice(5))
      log.warn({ status, reason: error }, 'failed to check a password for breaches; it is accepted unchecked')
      return false
    },
  }
}

/** Returns true if a range has the rest of a hash. Lines of padding have the count 0. */
function holds(range: string, rest: string): boolean {
  return range.split('\n').some((line) => {
    const [suffix = '', count = ''] = line.trim().split(':')
    return suffix.toUpperCase() === rest && Number(count) > 0
  })
}
