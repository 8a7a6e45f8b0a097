import type { FastifyReply, FastifyRequest } from 'fastify'
import { translateDatabaseFailure } from '../../../database/errors/error-translation.ts'
import { acceptForms } from '../../../http/requests/body.ts'
import { addressKey } from '../../../http/requests/client-address.ts'
import { sendPage } from '../../../http/responses/send-page.ts'
import type { HttpServer } from '../../../http/server.ts'
import { AppError } from '../../../lib/errors.ts'
import { createPage, escapeHtml, submitOnceScript } from '../../../lib/page.ts'
import type { AccountContext } from './context.ts'
import { confirmMagicLink } from './methods/email-link/magic-link.ts'
import { verifyEmail } from './methods/email-link/verify-email.ts'
import { confirmPasswordReset } from './methods/password/password-reset.ts'
import { clientOf } from './sessions/sessions.ts'

/**
 * The pages behind mailed links. Each asks for one click before it uses the token up, because mail scanners and previews
 * open links too. They are forms, which work without a script; the one they have takes the token out of the address
 * bar, and keeps a second click from using the token again.
 */
export function accountPages(app: HttpServer, context: AccountContext): void {
  void app.register(async (scope) => {
    acceptForms(scope)
    for (const page of [verifyPage(context), magicLinkPage(context), resetPage(context)]) {
      const config = { guard: 'public', operation: `accounts.page:${page.path}` } as const
      scope.get<{ Querystring: { token?: unknown } }>(
        page.path,
        { config, schema: { hide: true } },
        (request, reply) => {
          const { token } = request.query
          const isWhole = typeof token === 'string' && token !== ''
          return send(reply, context, page, isWhole ? page.ask(token) : incompleteLink)
        },
      )
      scope.post<{ Body: URLSearchParams | undefined }>(
        page.path,
        { config, schema: { hide: true } },
        async (request, reply) => {
          const form = request.body ?? new URLSearchParams()
          try {
            return send(reply, context, page, await page.submit(form, request))
          } catch (thrown) {
            const error = thrown instanceof AppError ? thrown : translateDatabaseFailure(thrown)
            // A fault of ours: logged and answered as everywhere.
            if (error === undefined || error.status === 500) throw thrown
            void reply.code(error.status).headers(error.extras.headers ?? {})
            return send(reply, context, page, explain(error, page, form.get('token') ?? ''))
          }
        },
      )
    }
  })
}

interface MailedPage {
  readonly path: string
  readonly title: string
  /** HTML that asks for the click; with what was wrong the last time. */
  readonly ask: (token: string, problem?: string) => string
  /** Does what the link is for and says so in HTML. @throws AppError */
  readonly submit: (form: URLSearchParams, request: FastifyRequest) => Promise<string>
  /** The error of a token that was used or has expired. */
  readonly spent: string
}

const hideToken = 'history.replaceState(null, "", location.pathname)'

function send(
  reply: FastifyReply,
  { appName }: AccountContext,
  { title }: MailedPage,
  body: string,
): FastifyReply {
  void reply.header('referrer-policy', 'no-referrer').header('cache-control', 'no-store')
  return sendPage(
    reply,
    createPage({
      title,
      application: appName,
      body: `<div class="narrow">\n<h1>${escapeHtml(title)}</h1>\n${body}\n</div>`,
      script: hideToken + submitOnceScript,
    }),
  )
}

const incompleteLink =
  '<p id="say" role="status">This link is not complete. Open it as it stands in the mail.</p>'

const spentLink = `<p id="say" role="alert">This link does not work any more: it was used already, has expired, or a newer one was sent.
Ask for another one in the application.</p>`

function explain(error: AppError, { ask, spent }: MailedPage, token: string): string {
  if (token === '') return incompleteLink
  if (error.kind === spent) return spentLink
  const { 'retry-after': seconds } = error.extras.headers ?? {}
  if (error.status === 429)
    return ask(token, `Too many attempts. Try again in ${inMinutes(Number(seconds ?? 60))}.`)
  if (error.status >= 500 || error.status === 409) {
    return ask(token, 'The server cannot do this right now. Try again in a moment.')
  }
  return ask(token, `${error.message.charAt(0).toUpperCase()}${error.message.slice(1)}.`)
}

function inMinutes(seconds: number): string {
  const minutes = Math.max(1, Math.ceil(seconds / 60))
  return minutes === 1 ? 'a minute' : `${minutes} minutes`
}

interface FormParts {
  readonly path: string
  readonly token: string
  readonly button: string
  readonly say: string
  readonly problem?: string | undefined
  /** HTML of what is asked for. */
  readonly fields?: string
}

function form({ path, token, button, say, problem, fields = '' }: FormParts): string {
  return `<p id="say" role="status">${say}</p>
${problem === undefined ? '' : `<p id="problem" class="bad" role="alert">${escapeHtml(problem)}</p>`}
<form id="form" method="post" action="${path}">
<input type="hidden" name="token" value="${escapeHtml(token)}">
${fields}<p><button>${button}</button></p>
</form>`
}

function done({ config }: AccountContext, say: string): string {
  const back =
    config.site_url === ''
      ? '<p class="soft">You can close this page and go back to the application.</p>'
      : `<p><a class="button" id="back" href="${escapeHtml(config.site_url)}">Back to the application</a></p>`
  return `<p id="say" role="status">${say}</p>\n${back}`
}

function verifyPage(context: AccountContext): MailedPage {
  const path = '/auth/verify'
  return {
    path,
    title: 'Verify your email',
    spent: 'invalid_verification_token',
    ask: (token, problem) =>
      form({
        path,
        token,
        problem,
        button: 'This is my address',
        say: 'An account was made with this address. If it was you, confirm that the address is yours.',
      }),
    async submit(given) {
      await verifyEmail(context, given.get('token') ?? '')
      return done(context, 'Your email is verified.')
    },
  }
}

function resetPage(context: AccountContext): MailedPage {
  const path = '/auth/reset-password'
  return {
    path,
    title: 'Choose a new password',
    spent: 'invalid_reset_token',
    ask: (token, problem) =>
      form({
        path,
        token,
        problem,
        button: 'Set password',
        say: 'You will be signed out everywhere else.',
        fields: `<p><label for="password">New password</label>
<input id="password" name="password" type="password" autocomplete="new-password" required maxlength="1024"></p>
`,
      }),
    async submit(given, request) {
      const body = { token: given.get('token') ?? undefined, password: given.get('password') ?? undefined }
      await confirmPasswordReset(context, body, addressKey(request))
      return done(context, 'Your password is set. Sign in with it in the application.')
    },
  }
}

/**
 * A session has to reach the application, and a page of ours can hand it to none: the tokens would be in an address or
 * in front of a person. So the link leads on to the application, unused. Only in development, where there may be no
 * application yet, the page signs in itself and offers the tokens to the developer.
 */
function magicLinkPage(context: AccountContext): MailedPage {
  const path = '/auth/magic-link'
  const { config, isDevelopment } = context
  return {
    path,
    title: 'Sign in',
    spent: 'invalid_magic_link_token',
    ask(token, problem) {
      if (config.site_url !== '') return leadOn(config.site_url, path, token)
      if (!isDevelopment) return noApplication
      return form({ path, token, problem, button: 'Sign in', say: 'This link signs you in once.' })
    },
    async submit(given, request) {
      const token = given.get('token') ?? ''
      if (config.site_url !== '') return leadOn(config.site_url, path, token)
      if (!isDevelopment) return noApplication
      const answer = await confirmMagicLink(context, token, undefined, clientOf(request))
      if ('mfa_pending' in answer) {
        return done(context, 'A second factor is needed: sign in in the application.')
      }
      return `<p id="say" role="status">You are signed in as ${escapeHtml(answer.user.email)}.</p>
${describeTokens(answer.token, answer.refreshToken)}`
    },
  }
}

function leadOn(siteUrl: string, path: string, token: string): string {
  const link = `${siteUrl.replace(/\/$/, '')}${path}?token=${encodeURIComponent(token)}`
  return `<p id="say" role="status">This link signs you in once, in the application.</p>
<p><a class="button" id="back" href="${escapeHtml(link)}">Continue</a></p>`
}

const noApplication = `<p id="say" role="status">This link is for an application whose address this server does not know. It was not used up.</p>
<p class="soft">For its operator: set <code>auth.site_url</code>, and links lead there.</p>`

function describeTokens(token: string, refreshToken: string): string {
  return `<details>
<summary>Tokens, for the developer</summary>
<p class="soft">Shown because this server runs in development and <code>auth.site_url</code> is not set.</p>
<p><label for="token">Access token</label><textarea id="token" class="code" rows="4" readonly>${escapeHtml(token)}</textarea></p>
<p><label for="refresh">Refresh token</label><textarea id="refresh" class="code" rows="2" readonly>${escapeHtml(refreshToken)}</textarea></p>
</details>`
}
