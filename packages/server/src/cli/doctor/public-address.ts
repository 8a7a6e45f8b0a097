import type { Config } from '../../configuration.ts'
import { isOf } from '../../lib/is-of.ts'
import { Type } from '../../lib/type.ts'
import { CheckSkipped } from './check-skipped.ts'
import { exchange, reasonOf } from './exchange.ts'
import type { Outside } from './outside.ts'

const timeoutMs = 5000

/** Response of Basalt's health check. */
const healthSchema = Type.Object({ status: Type.String(), database: Type.String() })

/** Address at which clients reach the server, through whatever is in front of it. */
export class PublicAddress {
  readonly #configured: string
  readonly #outside: Pick<Outside, 'reach'>
  #state: Promise<string | undefined> | undefined

  constructor({ server }: Pick<Config, 'server'>, outside: Pick<Outside, 'reach'>) {
    this.#configured = server.public_base_url
    this.#outside = outside
  }

  /** URL without a path. @throws CheckSkipped if none is configured */
  get url(): URL {
    if (this.#configured === '') throw new CheckSkipped('server.public_base_url is not set')
    return new URL(this.#configured)
  }

  /** Returns the URL of a path, as it is requested. */
  at(path: string): URL {
    return this.#outside.reach(new URL(path, this.url))
  }

  /** Requests the health check, once. @returns the reason why no healthy server responds; undefined if one does */
  findProblem(): Promise<string | undefined> {
    this.#state ??= this.#find()
    return this.#state
  }

  /** @throws CheckSkipped if no server responds */
  async requireServer(): Promise<void> {
    const { url } = this
    if ((await this.findProblem()) !== undefined)
      throw new CheckSkipped(`no server responds at ${url.origin}`)
  }

  async #find(): Promise<string | undefined> {
    const target = this.at('/health')
    try {
      const { status, text } = await exchange(target, { signal: AbortSignal.timeout(timeoutMs) })
      const health = parseHealth(text)
      if (health === undefined) return `responds with ${status}, and not as Basalt`
      return status === 200
        ? undefined
        : `responds with ${status}: ${health.status}, database ${health.database}`
    } catch (error) {
      return `cannot be reached: ${reasonOf(error)}`
    }
  }
}

function parseHealth(body: string) {
  try {
    const health: unknown = JSON.parse(body)
    return isOf(healthSchema, health) ? health : undefined
  } catch {
    return undefined
  }
}
