import type { KeyObject } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import type { Outbound } from '../../../http/outbound.ts'
import type { Clock } from '../../../lib/clock.ts'
import { Type } from '../../../lib/type.ts'
import {
  type AttemptLimit,
  perAddress,
  requireAllowed,
  type Throttle,
} from '../../operations/throttle/index.ts'
import type { CaptchaConfig, CaptchaRoute } from './config.ts'
import { captchaErrors } from './errors.ts'
import { challengeSeconds, createChallenge, type ProofChallenge, verifySolution } from './proof-of-work.ts'
import { type Judgement, type ProviderName, providers } from './providers.ts'

/** Time limit of a verification by a provider. A person waits for it. */
const timeoutMs = 3000

/** Number of uses of a challenge. Its window is longer than its life. */
const oneUse: AttemptLimit = { name: 'captcha', attempts: 1, windowSeconds: challengeSeconds + 60 }

/** Limit of verifications by a provider per network address, each of which is a request of this server. */
const verifications = { name: 'captcha.verify', windowSeconds: 60 }

/** Header in which clients send the response of a captcha. */
export const captchaHeader = 'x-captcha-response'

/** Declaration of the header in an operation. */
export const captchaHeaders = Type.Object({
  [captchaHeader]: Type.Optional(
    Type.String({
      maxLength: 8192,
      description:
        'Response of the captcha, where `auth.captcha` requires one: the token of the provider, or the solution of a proof of work.',
    }),
  ),
})

/** Returns the response of a captcha that a request has. */
export function captchaOf({ headers }: FastifyRequest): string | undefined {
  const value = headers[captchaHeader]
  return typeof value === 'string' ? value : undefined
}

/** Description of the captcha of a route, for the client that has to solve it. */
export interface CaptchaDescription extends Partial<ProofChallenge> {
  readonly provider: CaptchaConfig['provider']
  readonly route: CaptchaRoute
  readonly siteKey?: string
}

export interface CaptchaDeps {
  readonly config: CaptchaConfig
  /** Key that signs challenges. */
  readonly key: KeyObject
  readonly throttle: Throttle
  /** True in development, where limits per address are wide. */
  readonly isDevelopment: boolean
  readonly clock: Clock
  readonly outbound: Outbound
  readonly log: Logger
  /** Returns the URLs of our own pages. */
  readonly ownUrls: () => readonly string[]
}

/** Captchas of the routes that cost money or make accounts. */
export class Captcha {
  readonly #deps: CaptchaDeps

  constructor(deps: CaptchaDeps) {
    this.#deps = deps
  }

  get provider(): CaptchaConfig['provider'] {
    return this.#deps.config.provider
  }

  /** Returns the provider of a route; `off` if the route needs no captcha. */
  providerOf(route: CaptchaRoute): CaptchaConfig['provider'] {
    const { provider, routes } = this.#deps.config
    return routes.includes(route) ? provider : 'off'
  }

  /** Describes the captcha of a route, with a new challenge for a proof of work. */
  describe(route: CaptchaRoute): CaptchaDescription {
    const { config, key, clock } = this.#deps
    const provider = this.providerOf(route)
    if (provider === 'off') return { provider, route }
    if (provider !== 'proof_of_work') return { provider, route, siteKey: config.site_key }
    return {
      provider,
      route,
      ...createChallenge(key, { route, difficulty: config.difficulty, now: clock.now() }),
    }
  }

  /**
   * Requires the response of a captcha.
   *
   * @param address network address of the client
   * @throws AppError captcha_required, captcha_failed, captcha_unavailable, too_many_requests
   */
  async require(route: CaptchaRoute, response: string | undefined, address: string): Promise<void> {
    const provider = this.providerOf(route)
    if (provider === 'off') return
    if (response === undefined || response === '') {
      throw captchaErrors.captchaRequired().with({ data: { route, provider } })
    }
    if (provider === 'proof_of_work') await this.#requireProof(route, response)
    else {
      const limit = { ...verifications, attempts: perAddress(30, this.#deps) }
      requireAllowed(await this.#deps.throttle.attempt(limit, address))
      await this.#requireToken(provider, route, response)
    }
  }

  async #requireProof(route: CaptchaRoute, response: string): Promise<void> {
    const { key, clock, throttle } = this.#deps
    const solution = verifySolution(key, response, clock.now())
    if (solution?.route !== route) throw captchaErrors.captchaFailed()
    const use = await throttle.attempt(oneUse, solution.id)
    if (!use.isAllowed) throw captchaErrors.captchaFailed()
  }

  async #requireToken(provider: ProviderName, route: CaptchaRoute, response: string): Promise<void> {
    const { config, log } = this.#deps
    const judgement = await this.#verify(provider, response)
    if ('fault' in judgement) {
      const isAccepted = config.on_failure === 'accept'
      log.warn(
        { provider, route, reason: judgement.fault },
        `failed to verify a captcha; the request is ${isAccepted ? 'accepted without it' : 'refused'}`,
      )
      if (isAccepted) return
      throw captchaErrors.captchaUnavailable()
    }
    const reason = this.#refusalOf(provider, route, judgement)
    if (reason === undefined) return
    log.info({ provider, route, reason }, 'rejected a captcha')
    throw captchaErrors.captchaFailed()
  }

  async #verify(name: ProviderName, token: string): Promise<Judgement> {
    const { config, outbound } = this.#deps
    const provider = providers[name]
    const { headers, body } = provider.request({ secret: config.secret, siteKey: config.site_key }, token)
    const url = config.verify_url === '' ? provider.url : config.verify_url
    const { status, text, error } = await outbound.post({ url, headers, body, timeoutMs, replyLimit: 65_536 })
    if (status === undefined || error !== undefined) return { fault: error ?? 'no response' }
    try {
      const json: unknown = JSON.parse(text)
      if (typeof json === 'object' && json !== null) return provider.judge(status, { ...json })
    } catch {
      // It is described below.
    }
    return { fault: `status ${status} without JSON` }
  }

  #refusalOf(provider: ProviderName, route: CaptchaRoute, judgement: Exclude<Judgement, { fault: string }>) {
    if (!judgement.isPassed) return judgement.reason
    const { hostname, action } = judgement
    if (!this.#hostnames().includes(hostname)) return `token of the host ${hostname}`
    return providers[provider].hasAction && action !== route ? `token of the action ${action}` : undefined
  }

  #hostnames(): readonly string[] {
    const { config, ownUrls } = this.#deps
    return config.hostnames.length > 0 ? config.hostnames : ownUrls().map((each) => new URL(each).hostname)
  }
}
