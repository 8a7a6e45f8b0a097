import { hkdfSync } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { createSecretBox, type SecretBox } from '../../../../lib/secret-box.ts'

/** Seconds that a person has for the page. */
const lifetimeSeconds = 900
/** Value of the cookie before a person has signed in. */
const begun = 'begun'
/** Purpose of the key of the cookie. */
const sealing = 'cookie of the authorization page'

/**
 * Session of the person who has signed in on the page, in a cookie that no script reads and no other site's form sends along (RFC 9700 §4.7).
 * Without it no form of the page does anything. The token in it is sealed: outside of the page it opens nothing.
 */
export class PageCookie {
  readonly #isSecure: boolean
  readonly #box: SecretBox

  /** @param key the same on every node */
  constructor(publicBaseUrl: string, key: Buffer) {
    this.#isSecure = publicBaseUrl.startsWith('https:')
    this.#box = createSecretBox([Buffer.from(hkdfSync('sha256', key, '', sealing, 32))])
  }

  begin(reply: FastifyReply): void {
    this.#write(reply, begun, lifetimeSeconds)
  }

  /** @param token of the session, or of the sign-in whose second factor is due */
  set(reply: FastifyReply, token: string): void {
    this.#write(reply, this.#box.seal(Buffer.from(token), sealing), lifetimeSeconds)
  }

  clear(reply: FastifyReply): void {
    this.#write(reply, '', 0)
  }

  /** @returns undefined when the page was not opened here, an empty text before the sign-in */
  read({ headers }: FastifyRequest): string | undefined {
    const site = headers['sec-fetch-site']
    if (site !== undefined && site !== 'same-origin') return undefined
    const prefix = `${this.#name}=`
    const value = headers.cookie
      ?.split(/; */)
      .find((pair) => pair.startsWith(prefix))
      ?.slice(prefix.length)
    if (value === undefined || value === '') return undefined
    return value === begun ? '' : (this.#box.open(value, sealing)?.toString() ?? '')
  }

  get #name(): string {
    return this.#isSecure ? '__Host-basalt_authorize' : 'basalt_authorize'
  }

  #write(reply: FastifyReply, value: string, seconds: number): void {
    const secure = this.#isSecure ? '; Secure' : ''
    void reply.header(
      'set-cookie',
      `${this.#name}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Strict${secure}`,
    )
  }
}
