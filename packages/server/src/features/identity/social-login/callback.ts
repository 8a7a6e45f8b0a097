import type { FastifyReply, FastifyRequest } from 'fastify'
import { AppError } from '../../../lib/errors.ts'
import { hashToken } from '../../../lib/tokens.ts'
import { type AuthenticationResponse, clientOf, type PendingResponse } from '../accounts/index.ts'
import { bindState } from './binding.ts'
import { browserHashes } from './browser-cookie.ts'
import { sendClosingPage } from './closing-page.ts'
import { callbackUrl, isHttps, type SocialLoginContext } from './context.ts'
import { socialLoginErrors } from './errors.ts'
import { explainFailure } from './failure.ts'
import { linkByProvider } from './link.ts'
import { findReturnAddress } from './loopback-detour.ts'
import { onlyOne } from './parameters.ts'
import { consumeSignIn, type WaitingSignIn } from './queries.ts'
import { findRedirectTarget, type RedirectConfig } from './redirect-target.ts'
import { type ProviderLogin, signInByProvider } from './resolve-account.ts'

type Outcome = AuthenticationResponse | PendingResponse | { readonly linked: string }

/**
 * Finishes a sign-in with the provider's response, which the browser brings.
 *
 * @throws AppError provider_not_configured; where there is no page provider_denied, invalid_state,
 * missing_code, provider_failed, …
 */
export async function finish(
  context: SocialLoginContext,
  provider: string,
  parameters: URLSearchParams,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { accounts, registry, popups } = context
  if (registry.find(provider) === undefined) throw socialLoginErrors.providerNotConfigured(provider)
  const state = onlyOne(parameters, 'state') ?? ''
  const returnAddress =
    request.method === 'GET' ? findReturnAddress(request, context.publicBaseUrl(), state) : undefined
  if (returnAddress !== undefined)
    return reply.header('cache-control', 'no-store').redirect(returnAddress, 307)
  const browsers = browserHashes(request, isHttps(context))
  const signIn = await consumeSignIn(accounts.database, {
    stateHash: hashToken(state),
    provider,
    browserHashes: browsers,
  })
  if (signIn === undefined) {
    const failure = parameters.has('error')
      ? socialLoginErrors.providerDenied()
      : socialLoginErrors.invalidState()
    return sendFailure(context, failure, undefined, request, reply)
  }
  if (signIn.authorize_query !== null) {
    const outcome = await identify(context, provider, parameters)
      .then((login) => signInByProvider(context, login, clientOf(request)))
      .catch(requireAppError)
    return await context.resumeAuthorization({ query: signIn.authorize_query, outcome, request, reply })
  }
  try {
    if (signIn.popup_hash !== null && !(await popups.isOpen(signIn.popup_hash, browsers))) {
      throw socialLoginErrors.invalidPopup()
    }
    const login = await identify(context, provider, parameters)
    const outcome = await admit(context, signIn, login, request)
    if (signIn.popup_hash === null) return send(context, outcome, signIn, request, reply)
    if (await popups.send(signIn.popup_hash, browsers, outcome))
      return sendClosingPage(reply, context.accounts.appName)
    throw socialLoginErrors.invalidPopup()
  } catch (error) {
    const waits = signIn.popup_hash
    if (waits === null) return sendFailure(context, requireAppError(error), signIn, request, reply)
    if (!(error instanceof AppError)) throw error
    if (!(await popups.send(waits, browsers, { error: error.message }))) throw error
    return sendClosingPage(reply, context.accounts.appName)
  }
}

/** Returns an error for the browser. A server fault is thrown, then logged and reported as everywhere else. */
function requireAppError(error: unknown): AppError {
  if (error instanceof AppError && error.status !== 500) return error
  throw error
}

/** Returns the person that the provider names. @throws AppError provider_denied, missing_code, provider_failed, … */
async function identify(
  context: SocialLoginContext,
  provider: string,
  parameters: URLSearchParams,
): Promise<ProviderLogin> {
  const { accounts, registry } = context
  if (parameters.has('error')) throw socialLoginErrors.providerDenied()
  const at = registry.find(provider)
  if (at === undefined) throw socialLoginErrors.providerNotConfigured(provider)
  const code = onlyOne(parameters, 'code')
  if (code === undefined || code === '') throw socialLoginErrors.missingCode()
  const state = onlyOne(parameters, 'state') ?? ''
  const binding = bindState(accounts.keys.codes, provider, state, callbackUrl(context, provider))
  const identified = await at.redeem(parameters, binding).catch((error) => {
    throw explainFailure(accounts.log, provider, error)
  })
  return { provider, at, ...identified }
}

/** Signs the person in, or links the identity to the account of the session that began the sign-in. */
async function admit(
  context: SocialLoginContext,
  signIn: WaitingSignIn,
  login: ProviderLogin,
  request: FastifyRequest,
): Promise<Outcome> {
  if (signIn.link_session_id === null) return await signInByProvider(context, login, clientOf(request))
  await linkByProvider(context, signIn.link_session_id, login, request.id)
  return { linked: login.provider }
}

function send(
  { config }: SocialLoginContext,
  outcome: Outcome,
  { redirect_to }: WaitingSignIn,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  // The configuration may have changed since the start.
  const target = findRedirectTarget(config, redirect_to ?? undefined)
  if (target === undefined) return reply.send(outcome)
  const fragment: Record<string, string> =
    'token' in outcome
      ? { token: outcome.token, refreshToken: outcome.refreshToken }
      : 'linked' in outcome
        ? { linked: outcome.linked }
        : { mfa_pending: 'true', mfa_token: outcome.mfa_token }
  return lead(target, fragment, request, reply)
}

/**
 * Redirects a person whose sign-in has failed back to the page.
 *
 * @param signIn undefined when it is no longer known: the page is that of the configuration
 * @throws the failure where there is no page
 */
function sendFailure(
  { config }: SocialLoginContext,
  failure: AppError,
  signIn: WaitingSignIn | undefined,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const target = pageOf(config, signIn?.redirect_to ?? undefined)
  if (target === undefined) throw failure
  return lead(target, { error: failure.kind, error_description: failure.message }, request, reply)
}

/** Returns the page that began the sign-in, unless the configuration has changed since. */
function pageOf(config: RedirectConfig, text: string | undefined): URL | undefined {
  try {
    return findRedirectTarget(config, text)
  } catch (error) {
    if (error instanceof AppError) return findRedirectTarget(config, undefined)
    throw error
  }
}

function lead(
  target: URL,
  fragment: Readonly<Record<string, string>>,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  target.hash = new URLSearchParams(fragment).toString()
  // After a POST the browser must not post the form again (RFC 9110 §15.4.4).
  return reply.redirect(target.href, request.method === 'POST' ? 303 : 307)
}
