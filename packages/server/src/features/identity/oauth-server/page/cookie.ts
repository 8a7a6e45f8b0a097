import type { FastifyReply, FastifyRequest } from 'fastify'

/** Seconds that a person has for the page. */
const lifetimeSeconds = 900
/** What the cookie holds before anybody has signed in. */
const begun = 'begun'

/**
 * Who has signed in on the page, in a cookie that no script reads and no other site's form sends along (RFC 9700 §4.7).
 * Without it no form of the page does anything.
 */
export class PageCookie {
  readonly #isSecure: boolean

  constructor(publicBaseUrl: string) {
    this.#isSecure = publicBaseUrl.startsWith('https:')
  }

  begin(reply: FastifyReply): void {
    this.set(reply, begun)
  }

  /** @param token of the session, or of the sign-in whose second factor is due */
  set(reply: FastifyReply, token: string): void {
    this.#write(reply, token, lifetimeSeconds)
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
    return value === begun ? '' : value
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
