import { hkdfSync, type KeyObject } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { createSecretBox, type SecretBox } from '../../../../lib/secret-box.ts'

/** Seconds for which the page can be used. */
const lifetimeSeconds = 900
/** Value of the cookie before the sign-in. */
const unsigned = 'begun'
/** Purpose of the key of the cookie. */
const keyPurpose = 'cookie of the authorization page'

/**
 * Session of the user who has signed in on the page, in a cookie. No script reads it, and no form of another
 * site sends it (RFC 9700 §4.7). Without it no form of the page has an effect. The token in it is encrypted,
 * so it is useless outside the page.
 */
export class PageCookie {
  readonly #isSecure: boolean
  readonly #box: SecretBox

  /** @param key that is the same on every node */
  constructor(publicBaseUrl: string, key: KeyObject) {
    this.#isSecure = publicBaseUrl.startsWith('https:')
    this.#box = createSecretBox([Buffer.from(hkdfSync('sha256', key, '', keyPurpose, 32))])
  }

  begin(reply: FastifyReply): void {
    this.#write(reply, unsigned, lifetimeSeconds)
  }

  /** Sets the cookie. @param token of the session, or of the sign-in whose second factor is due */
  set(reply: FastifyReply, token: string): void {
    this.#write(reply, this.#box.seal(Buffer.from(token), keyPurpose), lifetimeSeconds)
  }

  clear(reply: FastifyReply): void {
    this.#write(reply, '', 0)
  }

  /** Reads the cookie. @returns undefined when this browser did not open the page, an empty text before the sign-in */
  read({ headers }: FastifyRequest): string | undefined {
    const site = headers['sec-fetch-site']
    if (site !== undefined && site !== 'same-origin') return undefined
    const prefix = `${this.#name}=`
    const value = headers.cookie
      ?.split(/; */)
      .find((pair) => pair.startsWith(prefix))
      ?.slice(prefix.length)
    if (value === undefined || value === '') return undefined
    return value === unsigned ? '' : (this.#box.open(value, keyPurpose)?.toString() ?? '')
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
