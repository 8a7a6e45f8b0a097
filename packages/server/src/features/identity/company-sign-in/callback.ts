import type { FastifyReply, FastifyRequest } from 'fastify'
import { setAdminCookie } from '../../../http/access/admin-cookie.ts'
import { originOf } from '../../../http/requests/request-origin.ts'
import { sendPage } from '../../../http/responses/send-page.ts'
import { AppError } from '../../../lib/errors.ts'
import { createPage, escapeHtml } from '../../../lib/page.ts'
import { hashToken } from '../../../lib/tokens.ts'
import { admitPerson, admitReauthentication } from '../../operations/admin/index.ts'
import {
  bindState,
  browserValue,
  findReturnAddress,
  onlyOne,
  sendClosingPage,
} from '../social-login/index.ts'
import { readPerson } from './client.ts'
import { type Company, type CompanySignInContext, keyOf, requireCompany } from './context.ts'
import { companySignInErrors } from './errors.ts'
import { explainFailure } from './failure.ts'
import { consumeRequest } from './queries.ts'
import { findReturnUrl } from './return-path.ts'

/** Finishes a request to the provider, with its response, which the browser brings. */
export async function finish(
  context: CompanySignInContext,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  void reply.header('cache-control', 'no-store').header('referrer-policy', 'no-referrer')
  const company = requireCompany(context)
  const parameters = new URL(request.url, 'http://localhost').searchParams
  const state = onlyOne(parameters, 'state') ?? ''
  const returnAddress = findReturnAddress(request, company.baseUrl, state)
  if (returnAddress !== undefined) return reply.redirect(returnAddress, 307)
  try {
    const target = await complete(context, company, parameters, state, request, reply)
    return target === undefined ? sendClosingPage(reply) : reply.redirect(target, 303)
  } catch (error) {
    if (!(error instanceof AppError) || error.status === 500) throw error
    return sendRefusal(company, error, reply)
  }
}

/**
 * Starts the session, or renews its authentication.
 *
 * @returns the address of the next page; undefined if the window was only opened for the provider
 * @throws AppError
 */
async function complete(
  context: CompanySignInContext,
  company: Company,
  parameters: URLSearchParams,
  state: string,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<string | undefined> {
  const { administration } = context
  const { provider, client, callbackUrl, dashboardUrl, isHttps } = company
  const { log, database } = administration
  const browser = browserValue(request, isHttps)
  if (browser === undefined) throw companySignInErrors.invalidCompanySignIn()
  const hashes = { stateHash: hashToken(state), browserHash: hashToken(browser) }
  const waiting = await consumeRequest(database, hashes)
  if (waiting === undefined) throw companySignInErrors.invalidCompanySignIn()
  if (parameters.has('error') || onlyOne(parameters, 'code') === undefined) {
    log.info({ reason: parameters.get('error')?.slice(0, 200) }, 'the provider denied a sign-in')
    throw companySignInErrors.companySignInDenied()
  }
  const binding = bindState(keyOf(browser), 'administrators', state, callbackUrl)
  const person = await client
    .redeem(parameters, binding)
    .then(({ profile }) => readPerson(profile, context))
    .catch((error) => {
      throw explainFailure(log, error)
    })
  // The configuration may have changed since the start.
  const target = findReturnUrl(dashboardUrl, waiting.return_to ?? undefined)
  const login = { provider, person, origin: originOf(request) }
  const { session_id: sessionId, started_at: startedAt } = waiting
  if (sessionId !== null) {
    await admitReauthentication(administration, login, { sessionId, startedAt })
    return waiting.return_to === null ? undefined : target.href
  }
  const outcome = await admitPerson(administration, login, request.headers['user-agent'])
  if ('token' in outcome) {
    setAdminCookie(request, reply, outcome.token, isHttps)
    return target.href
  }
  // Without a session, every page of the dashboard shows the sign-in, and reads its token from the fragment.
  target.hash = new URLSearchParams({ mfa_token: outcome.mfa_token }).toString()
  return target.href
}

/** Sends a page that says why the sign-in failed, with the name of the error. */
function sendRefusal({ dashboardUrl }: Company, error: AppError, reply: FastifyReply): FastifyReply {
  return sendPage(
    reply.status(error.status).headers({ ...error.extras.headers }),
    createPage({
      title: 'Sign in',
      body: `<div class="narrow">
<h1>The sign-in failed</h1>
<p id="say" role="status">${escapeHtml(error.message)}</p>
<p><code id="error">${escapeHtml(error.kind)}</code></p>
<p><a class="button" href="${escapeHtml(dashboardUrl)}">Back</a></p>
</div>`,
    }),
  )
}
