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
 * Serves the pages of mailed links. Each page requires one click before it consumes the token, because mail
 * scanners and previews open links too. The pages are forms, which work without a script. Their script
 * removes the token from the address bar and prevents a second click from using it again.
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
          return send(reply, context, page, isWhole ? page.renderForm(token) : incompleteLink)
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
            // A server fault is logged and reported as everywhere else.
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
  /** Returns the HTML form, with the problem of the previous attempt. */
  readonly renderForm: (token: string, problem?: string) => string
  /** Performs the action of the link and returns HTML that confirms it. @throws AppError */
  readonly submit: (form: URLSearchParams, request: FastifyRequest) => Promise<string>
  /** Slug of the error for a used or expired token. */
  readonly expiredKind: string
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

const expiredLink = `<p id="say" role="alert">This link does not work any more: it was used already, has expired, or a newer one was sent.
Ask for another one in the application.</p>`

function explain(error: AppError, { renderForm, expiredKind }: MailedPage, token: string): string {
  if (token === '') return incompleteLink
  if (error.kind === expiredKind) return expiredLink
  const { 'retry-after': seconds } = error.extras.headers ?? {}
  if (error.status === 429)
    return renderForm(token, `Too many attempts. Try again in ${inMinutes(Number(seconds ?? 60))}.`)
  if (error.status >= 500 || error.status === 409) {
    return renderForm(token, 'The server cannot do this right now. Try again in a moment.')
  }
  return renderForm(token, `${error.message.charAt(0).toUpperCase()}${error.message.slice(1)}.`)
}

function inMinutes(seconds: number): string {
  const minutes = Math.max(1, Math.ceil(seconds / 60))
  return minutes === 1 ? 'a minute' : `${minutes} minutes`
}

interface FormParts {
  readonly path: string
  readonly token: string
  readonly button: string
  readonly text: string
  readonly problem?: string | undefined
  /** HTML of the form's input fields. */
  readonly fields?: string
}

function form({ path, token, button, text, problem, fields = '' }: FormParts): string {
  return `<p id="say" role="status">${text}</p>
${problem === undefined ? '' : `<p id="problem" class="bad" role="alert">${escapeHtml(problem)}</p>`}
<form id="form" method="post" action="${path}">
<input type="hidden" name="token" value="${escapeHtml(token)}">
${fields}<p><button>${button}</button></p>
</form>`
}

function done({ config }: AccountContext, text: string): string {
  const back =
    config.site_url === ''
      ? '<p class="soft">You can close this page and go back to the application.</p>'
      : `<p><a class="button" id="back" href="${escapeHtml(config.site_url)}">Back to the application</a></p>`
  return `<p id="say" role="status">${text}</p>\n${back}`
}

function verifyPage(context: AccountContext): MailedPage {
  const path = '/auth/verify'
  return {
    path,
    title: 'Verify your email',
    expiredKind: 'invalid_verification_token',
    renderForm: (token, problem) =>
      form({
        path,
        token,
        problem,
        button: 'This is my address',
        text: 'An account was made with this address. If it was you, confirm that the address is yours.',
      }),
    async submit(form) {
      await verifyEmail(context, form.get('token') ?? '')
      return done(context, 'Your email is verified.')
    },
  }
}

function resetPage(context: AccountContext): MailedPage {
  const path = '/auth/reset-password'
  return {
    path,
    title: 'Choose a new password',
    expiredKind: 'invalid_reset_token',
    renderForm: (token, problem) =>
      form({
        path,
        token,
        problem,
        button: 'Set password',
        text: 'You will be signed out everywhere else.',
        fields: `<p><label for="password">New password</label>
<input id="password" name="password" type="password" autocomplete="new-password" required maxlength="1024"></p>
`,
      }),
    async submit(form, request) {
      const body = { token: form.get('token') ?? undefined, password: form.get('password') ?? undefined }
      await confirmPasswordReset(context, body, addressKey(request))
      return done(context, 'Your password is set. Sign in with it in the application.')
    },
  }
}

/**
 * Makes the page of a sign-in link. A page of the server cannot hand a session to the application: the tokens
 * would appear in an address or on the screen. So the link leads on to the application, unused. In
 * development there may be no application yet. There the page signs in itself and shows the tokens to the
 * developer.
 */
function magicLinkPage(context: AccountContext): MailedPage {
  const path = '/auth/magic-link'
  const { config, isDevelopment } = context
  return {
    path,
    title: 'Sign in',
    expiredKind: 'invalid_magic_link_token',
    renderForm(token, problem) {
      if (config.site_url !== '') return leadOn(config.site_url, path, token)
      if (!isDevelopment) return noApplication
      return form({ path, token, problem, button: 'Sign in', text: 'This link signs you in once.' })
    },
    async submit(form, request) {
      const token = form.get('token') ?? ''
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
