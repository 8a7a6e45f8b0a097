import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Queryable } from '../../../../database/system-database.ts'
import type { Identity, PendingIdentity, UserIdentity } from '../../../../http/access/identity.ts'
import { addressKey } from '../../../../http/requests/client-address.ts'
import { AppError } from '../../../../lib/errors.ts'
import { endSession, requestMagicLink, requestSmsCode } from '../../accounts/index.ts'
import { type CaptchaRoute, providers as widgets } from '../../captcha/index.ts'
import { challengeSentCode, challengeTotp, describeFactors } from '../../mfa/index.ts'
import { beginDiscoverableSignIn, challengePasskey } from '../../passkeys/index.ts'
import { approve, issueConsented } from '../authorize/consent.ts'
import { codeAddress, denied, errorAddress } from '../authorize/redirect.ts'
import { answering, checkRequest, readQuery, requireTarget } from '../authorize/request.ts'
import { ProtocolError } from '../protocol-error.ts'
import type { PageContext } from './context.ts'
import { PageCookie } from './cookie.ts'
import { PageReply } from './reply.ts'
import { captchaField, firstSteps, type SignedIn, secondSteps, text } from './sign-in.ts'
import {
  consentView,
  type FormCaptcha,
  faultView,
  linkView,
  type PageRequest,
  type PasskeyPrompt,
  phoneCodeView,
  secondFactorView,
  signInView,
} from './views.ts'

/** Exchange of one page request and its response. */
export class Exchange {
  readonly cookie: PageCookie
  readonly #context: PageContext
  readonly #request: FastifyRequest
  readonly #reply: FastifyReply
  readonly #page: PageReply

  constructor(context: PageContext, request: FastifyRequest, reply: FastifyReply) {
    this.cookie = new PageCookie(context.oauth.publicBaseUrl(), context.oauth.key)
    this.#context = context
    this.#request = request
    this.#reply = reply
    this.#page = new PageReply(reply, context.oauth.appName, context.passkeys.mfa.accounts.captcha)
  }

  /** Checks the request of the client. An error goes to the client if it is known (RFC 6749 §4.1.2.1). */
  async check(query: string): Promise<PageRequest | undefined> {
    const { oauth } = this.#context
    try {
      return {
        request: await checkRequest(oauth, readQuery(query), addressKey(this.#request)),
        query,
        appName: oauth.appName,
      }
    } catch (error) {
      const fault = await this.#redirectError(query, error)
      if (fault !== undefined) this.#showFault(fault)
      return undefined
    }
  }

  /**
   * Redirects to the client with an error, if the client is known.
   *
   * @returns otherwise the error to show on the page
   */
  async #redirectError(query: string, error: unknown): Promise<unknown> {
    const { oauth } = this.#context
    if (!(error instanceof ProtocolError) || error.code === 'invalid_client') return error
    try {
      const target = await requireTarget(oauth, readQuery(query, answering), addressKey(this.#request))
      this.#page.redirect(errorAddress(oauth, target, error))
      return undefined
    } catch (fault) {
      return fault instanceof ProtocolError ? error : fault
    }
  }

  #showFault(fault: unknown): void {
    const isLimit = fault instanceof AppError && fault.status === 429
    if (!isLimit && !(fault instanceof ProtocolError)) throw fault
    if (isLimit) void this.#reply.headers(fault.extras.headers ?? {})
    this.#page.send(faultView(fault.message), [], fault.status)
  }

  /** Handles a form of the page. */
  async submit(page: PageRequest, form: URLSearchParams): Promise<FastifyReply> {
    const token = this.cookie.read(this.#request)
    if (token === undefined) {
      this.cookie.begin(this.#reply)
      return await this.showSignIn(page, 'The page was open for too long, or cookies are refused. Try again.')
    }
    const step = form.get('step') ?? ''
    const input = { form, request: this.#request }
    const first = Object.hasOwn(firstSteps, step) ? firstSteps[step] : undefined
    if (first !== undefined) {
      return await this.#page.attempt(
        async () => await this.#continue(page, await first(this.#context, input)),
        (problem) => this.#showFirstAgain(page, step, form, problem),
      )
    }
    if (step === 'mail' || step === 'phone') return await this.#sendFirst(page, step, form)
    const verdict = await this.#context.sessions.verify(token)
    if ('pending' in verdict && verdict.pending !== undefined) {
      return await this.#submitSecond(page, verdict.pending, step, form)
    }
    if (!('identity' in verdict) || !isPerson(verdict.identity) || step !== 'consent') {
      return await this.#showExpired(page)
    }
    return await this.#decide(page, verdict.identity, form.get('decision'))
  }

  /** Redirects the browser to a sign-in provider, from the page only, so that no other site can start it. */
  async redirectToProvider(page: PageRequest, provider: string): Promise<FastifyReply> {
    const { providers } = this.#context
    if (this.cookie.read(this.#request) === undefined) {
      this.cookie.begin(this.#reply)
      return await this.showSignIn(page)
    }
    return await this.#page.attempt(
      () => providers.start(provider, page.query, this.#request, this.#reply),
      (problem) => this.showSignIn(page, problem),
    )
  }

  /**
   * Resumes after the provider. The browser does not send the page's cookie when it comes from another site, so
   * it is set again.
   */
  async resume(page: PageRequest, outcome: SignedIn | AppError): Promise<FastifyReply> {
    return await this.#page.attempt(
      async () => {
        if (outcome instanceof AppError) throw outcome
        return await this.#continue(page, outcome)
      },
      (problem) => {
        this.cookie.begin(this.#reply)
        return this.showSignIn(page, problem)
      },
    )
  }

  async showSignIn(page: PageRequest, problem?: string): Promise<FastifyReply> {
    const { settings } = this.#context.passkeys.mfa.accounts
    const { magic_link_enabled: hasMail, sms_enabled: hasSms } = settings.current
    const passkey = await this.#requestPasskey('passkey', () =>
      beginDiscoverableSignIn(this.#context.passkeys, addressKey(this.#request)),
    )
    const providers = this.#context.providers.list()
    const captchas = { mail: this.#captchaOf('magic_link'), phone: this.#captchaOf('sms') }
    const view = { page, problem, hasMail, hasSms, captchas, passkey, providers }
    return this.#page.send(signInView(view), [page.request.redirectUri])
  }

  #captchaOf(route: CaptchaRoute): FormCaptcha | undefined {
    const { provider, siteKey = '' } = this.#context.passkeys.mfa.accounts.captcha.describe(route)
    if (provider === 'off') return undefined
    if (provider === 'proof_of_work') return { route }
    return { route, widget: { className: widgets[provider].widget.className, siteKey } }
  }

  async #sendFirst(page: PageRequest, step: 'mail' | 'phone', form: URLSearchParams): Promise<FastifyReply> {
    const { accounts } = this.#context.passkeys.mfa
    const address = addressKey(this.#request)
    return await this.#page.attempt(
      async () => {
        if (step === 'mail') {
          await requestMagicLink(accounts, text(form, 'email'), address, captchaField(form))
          return this.#page.send(linkView(page), [page.request.redirectUri])
        }
        const phone = text(form, 'phone')
        await requestSmsCode(accounts, phone, address, captchaField(form))
        return this.#page.send(phoneCodeView(page, phone), [page.request.redirectUri])
      },
      (problem) => this.showSignIn(page, problem),
    )
  }

  async #showFirstAgain(
    page: PageRequest,
    step: string,
    form: URLSearchParams,
    problem: string,
  ): Promise<FastifyReply> {
    const targets = [page.request.redirectUri]
    if (step === 'link') return this.#page.send(linkView(page, problem), targets)
    if (step === 'phone-code')
      return this.#page.send(phoneCodeView(page, form.get('phone') ?? '', problem), targets)
    return await this.showSignIn(page, problem)
  }

  /** Continues after a factor has passed: to the next factor, to the consent, or back to the client. */
  async #continue(page: PageRequest, signedIn: SignedIn): Promise<FastifyReply> {
    const token = 'mfa_pending' in signedIn ? signedIn.mfa_token : signedIn.token
    const verdict = await this.#context.sessions.verify(token)
    if ('pending' in verdict && verdict.pending !== undefined) {
      this.cookie.set(this.#reply, token)
      return await this.#showSecond(page, verdict.pending)
    }
    if (!('identity' in verdict) || verdict.identity.kind !== 'user') return await this.showSignIn(page)
    const { identity } = verdict
    const { oauth } = this.#context
    const code = await issueConsented(oauth, page.request, identity)
    if (code !== undefined)
      return await this.#endAndRedirect(identity, codeAddress(oauth, page.request, code))
    this.cookie.set(this.#reply, token)
    return this.#page.send(consentView(page, identity.email), [page.request.redirectUri])
  }

  async #submitSecond(
    page: PageRequest,
    pending: PendingIdentity,
    step: string,
    form: URLSearchParams,
  ): Promise<FastifyReply> {
    const { mfa } = this.#context.passkeys
    const again = (problem: string) => this.#showSecond(page, pending, problem)
    if (step === 'send-email' || step === 'send-sms') {
      const method = step === 'send-email' ? 'email' : 'sms'
      return await this.#page.attempt(async () => {
        const challengeId = await challengeSentCode(mfa, pending, method)
        return await this.#showSecond(page, pending, undefined, { method, challengeId })
      }, again)
    }
    const second = Object.hasOwn(secondSteps, step) ? secondSteps[step] : undefined
    if (second === undefined) return await this.#showSecond(page, pending)
    return await this.#page.attempt(
      async () =>
        await this.#continue(page, await second(this.#context, pending, { form, request: this.#request })),
      again,
    )
  }

  async #showSecond(
    page: PageRequest,
    pending: PendingIdentity,
    problem?: string,
    sent?: { readonly method: string; readonly challengeId: string },
  ): Promise<FastifyReply> {
    const { passkeys } = this.#context
    const { mfa } = passkeys
    const factors = await describeFactors(mfa, pending.userId)
    const has = (method: string) => factors.some((factor) => factor.method === method)
    const totp = has('totp') ? await optional(() => challengeTotp(mfa, pending)) : undefined
    const passkey = has('webauthn')
      ? await this.#requestPasskey('second-passkey', () => challengePasskey(passkeys, pending))
      : undefined
    const view = { page, problem, factors, totpChallengeId: totp?.challenge_id, sent, passkey }
    return this.#page.send(secondFactorView(view), [page.request.redirectUri])
  }

  async #decide(page: PageRequest, identity: UserIdentity, decision: string | null): Promise<FastifyReply> {
    const { oauth } = this.#context
    const { request } = page
    if (decision === 'deny')
      return await this.#endAndRedirect(identity, errorAddress(oauth, request, denied()))
    if (decision !== 'approve') {
      return this.#page.send(consentView(page, identity.email), [request.redirectUri])
    }
    try {
      const code = await approve(oauth, request, identity, (transaction) => endOwn(transaction, identity))
      return this.#redirectToClient(identity, codeAddress(oauth, request, code))
    } catch (error) {
      // The session has ended, for example by an earlier copy of the same approval, or a factor was enrolled that it
      // has not passed.
      const hasSessionEnded =
        error instanceof AppError && (error.status === 401 || error.kind === 'insufficient_aal')
      if (hasSessionEnded) return await this.#showExpired(page)
      throw error
    }
  }

  async #showExpired(page: PageRequest): Promise<FastifyReply> {
    this.cookie.begin(this.#reply)
    return await this.showSignIn(page, 'The sign-in has expired. Try again.')
  }

  async #endAndRedirect(identity: UserIdentity, address: string): Promise<FastifyReply> {
    await endOwn(this.#context.passkeys.mfa.accounts.database, identity)
    return this.#redirectToClient(identity, address)
  }

  /** Redirects to the client after the page's session has ended. */
  #redirectToClient({ sessionId }: UserIdentity, address: string): FastifyReply {
    if (sessionId !== undefined) this.#context.passkeys.mfa.accounts.endedSessions.add(sessionId)
    this.cookie.clear(this.#reply)
    return this.#page.redirect(address)
  }

  async #requestPasskey(
    step: string,
    request: () => Promise<{ readonly challenge_id: string; readonly options: object }>,
  ): Promise<PasskeyPrompt | undefined> {
    if (!this.#context.passkeys.mfa.accounts.settings.current.webauthn_enabled) return undefined
    const prompt = await optional(request)
    return prompt && { step, ...prompt }
  }
}

async function endOwn(database: Queryable, { sessionId }: UserIdentity): Promise<void> {
  if (sessionId !== undefined) await endSession(database, sessionId)
}

/** Returns undefined where something is unavailable now, such as a disabled factor. */
async function optional<Result>(request: () => Promise<Result>): Promise<Result | undefined> {
  try {
    return await request()
  } catch (error) {
    if (error instanceof AppError && error.status < 500) return undefined
    throw error
  }
}

/** Returns whether the user has signed in. An administrator who acts as the user may not consent. */
function isPerson(identity: Identity): identity is UserIdentity {
  return identity.kind === 'user' && identity.impersonator === undefined
}
