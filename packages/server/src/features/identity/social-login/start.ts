import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { UserIdentity } from '../../../http/access/identity.ts'
import { addressKey } from '../../../http/requests/client-address.ts'
import { sendPage } from '../../../http/responses/send-page.ts'
import { createPage, escapeHtml } from '../../../lib/page.ts'
import { hashToken } from '../../../lib/tokens.ts'
import { perAddress } from '../../operations/throttle/index.ts'
import { findSessionOwner, findUserById, requireAttempt, requirePassedFactor } from '../accounts/index.ts'
import { bindState } from './binding.ts'
import { bindBrowser, browserHashes, signInSeconds } from './browser-cookie.ts'
import { callbackUrl, isHttps, type SocialLoginContext } from './context.ts'
import { socialLoginErrors } from './errors.ts'
import { explainFailure } from './failure.ts'
import { findLoopbackDetour, stateSuffix } from './loopback-detour.ts'
import type { ProviderClient } from './provider-client.ts'
import { insertSignIn, type NewSignIn } from './queries.ts'
import { findRedirectTarget } from './redirect-target.ts'

export interface StartQuery {
  readonly redirect_to?: string
  /** Id of the stream that waits for the tokens. */
  readonly state?: string
  /** Ticket of {@link beginLink}. */
  readonly link?: string
  readonly confirm?: string
}

/** Redirects the browser to the provider. @throws AppError provider_not_configured, invalid_redirect_to, … */
export async function start(
  context: SocialLoginContext,
  provider: string,
  query: StartQuery,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { config, registry, popups } = context
  const at = registry.find(provider)
  if (at === undefined) throw socialLoginErrors.providerNotConfigured(provider)
  const isPopup = query.state !== undefined && query.state !== ''
  // A popup stays on the host of its stream, whose cookie it needs.
  const detour = isPopup ? undefined : findLoopbackDetour(request, context.publicBaseUrl())
  if (detour !== undefined) return reply.redirect(detour, 307)
  const link = query.link === undefined ? undefined : openLink(context, provider, query.link)
  const redirectTo = link?.redirectTo ?? query.redirect_to
  findRedirectTarget(config, redirectTo)
  await requireStart(context, request)
  const https = isHttps(context)
  const popupHash = isPopup ? hashToken(query.state ?? '') : undefined
  if (popupHash !== undefined && !(await popups.isOpen(popupHash, browserHashes(request, https)))) {
    throw socialLoginErrors.invalidPopup()
  }
  const browserHash = bindBrowser(request, reply, {
    isHttps: https,
    crossSite: at.provider.responseMode === 'form_post',
  })
  if (popupHash !== undefined || link !== undefined) {
    const confirmation = confirmationOf(context, browserHash, query.state ?? '', query.link ?? '')
    if (!isSame(query.confirm ?? '', confirmation)) {
      return await sendConfirmation(context, at, provider, { ...query, confirm: confirmation }, link, reply)
    }
  }
  const url = await beginSignIn(context, at, {
    provider,
    browserHash,
    redirectTo: redirectTo === '' ? undefined : redirectTo,
    popupHash,
    linkSessionId: link?.sessionId,
    authorizeQuery: undefined,
    beganAt: stateSuffix(request, context.publicBaseUrl()),
  })
  return reply.redirect(url.href, 307)
}

/**
 * Redirects the browser from the authorization page to the provider, from which it returns to the page.
 *
 * @throws AppError
 */
export async function startFromPage(
  context: SocialLoginContext,
  provider: string,
  authorizeQuery: string,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const at = context.registry.find(provider)
  if (at === undefined) throw socialLoginErrors.providerNotConfigured(provider)
  await requireStart(context, request)
  const crossSite = at.provider.responseMode === 'form_post'
  const browserHash = bindBrowser(request, reply, { isHttps: isHttps(context), crossSite })
  const url = await beginSignIn(context, at, {
    provider,
    browserHash,
    redirectTo: undefined,
    popupHash: undefined,
    linkSessionId: undefined,
    authorizeQuery,
    beganAt: stateSuffix(request, context.publicBaseUrl()),
  })
  return reply.redirect(url.href, 303)
}

/** Starts a sign-in. @returns the address of the provider @throws AppError provider_failed */
async function beginSignIn(
  context: SocialLoginContext,
  at: ProviderClient,
  { beganAt, ...signIn }: Omit<NewSignIn, 'stateHash'> & { readonly beganAt: string },
): Promise<URL> {
  const { accounts } = context
  const { provider } = signIn
  const state = `${randomBytes(32).toString('base64url')}${beganAt}`
  const binding = bindState(accounts.keys.codes, provider, state, callbackUrl(context, provider))
  const url = await at.createAuthorizationUrl(binding).catch((error) => {
    throw explainFailure(accounts.log, provider, error)
  })
  await insertSignIn(accounts.database, { ...signIn, stateHash: hashToken(state) })
  return url
}

/**
 * Counts the sign-ins that an address starts, because each leaves a row for ten minutes.
 *
 * @throws AppError too_many_requests
 */
export async function requireStart({ accounts }: SocialLoginContext, request: FastifyRequest): Promise<void> {
  const limit = { name: 'social.start', attempts: perAddress(300, accounts), windowSeconds: 3600 }
  await requireAttempt(accounts.throttle, limit, addressKey(request))
}

/** Sends a page that says who requests the sign-in, because a page of another site can open this address too. */
async function sendConfirmation(
  context: SocialLoginContext,
  { provider: { title } }: ProviderClient,
  name: string,
  query: StartQuery,
  link: LinkTicket | undefined,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { accounts } = context
  const userId = link && (await findSessionOwner(accounts.database, link.sessionId))
  const user = userId === undefined ? undefined : await findUserById(accounts.database, userId)
  if (link !== undefined && user === undefined) throw socialLoginErrors.invalidState()
  const account = user?.email ?? 'your anonymous account'
  const text =
    link === undefined
      ? `You are about to sign in with ${title}, in the window of ${accounts.appName} that opened this one.`
      : `Your account at ${title} will be able to sign in to ${account}. Continue only if that account is yours.`
  const target = `/api/auth/oauth/${encodeURIComponent(name)}?${new URLSearchParams({ ...query })}`
  return sendPage(
    reply.header('cache-control', 'no-store'),
    createPage({
      title: `Continue with ${title}`,
      application: accounts.appName,
      body: `<div class="narrow">
<h1>${escapeHtml(`Continue with ${title}`)}</h1>
<p id="say" role="status">${escapeHtml(text)}</p>
<p><a class="button" id="continue" href="${escapeHtml(target)}">Continue</a></p>
</div>`,
    }),
  )
}

/** Returns the value that only a page shown to this browser contains. */
function confirmationOf({ accounts }: SocialLoginContext, browserHash: Buffer, ...about: string[]): string {
  return createHmac('sha256', accounts.keys.codes)
    .update(JSON.stringify(['social confirmation', browserHash.toString('hex'), ...about]))
    .digest('base64url')
}

function isSame(actual: string, expected: string): boolean {
  const [a, b] = [Buffer.from(actual), Buffer.from(expected)]
  return a.length === b.length && timingSafeEqual(a, b)
}

interface LinkTicket {
  readonly sessionId: string
  readonly redirectTo: string | undefined
}

const linkContext = (provider: string) => `link ${provider}`

/**
 * Returns the address that links a provider to the caller's account. The browser cannot send a token, so the
 * address carries the session.
 */
export async function beginLink(
  context: SocialLoginContext,
  caller: UserIdentity,
  provider: string,
  redirectTo: string | undefined,
): Promise<string> {
  const { accounts, config, registry, secrets } = context
  if (registry.find(provider) === undefined) throw socialLoginErrors.linkProviderNotConfigured(provider)
  findRedirectTarget(config, redirectTo)
  await requirePassedFactor(accounts, accounts.database, caller)
  const { sessionId } = caller
  if (sessionId === undefined || (await findSessionOwner(accounts.database, sessionId)) !== caller.userId) {
    throw socialLoginErrors.invalidState()
  }
  const expiresAt = accounts.clock.now().getTime() + signInSeconds * 1000
  const content = JSON.stringify({ sessionId, redirectTo, expiresAt })
  const link = secrets().seal(Buffer.from(content), linkContext(provider))
  return `${context.publicBaseUrl()}/api/auth/oauth/${encodeURIComponent(provider)}?${new URLSearchParams({ link })}`
}

function openLink({ accounts, secrets }: SocialLoginContext, provider: string, link: string): LinkTicket {
  const opened = secrets().open(link, linkContext(provider))
  if (opened === undefined) throw socialLoginErrors.invalidState()
  const { sessionId, redirectTo, expiresAt } = JSON.parse(opened.toString())
  if (expiresAt <= accounts.clock.now().getTime()) throw socialLoginErrors.invalidState()
  return { sessionId, redirectTo }
}
