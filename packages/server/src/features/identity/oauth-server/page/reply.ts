import type { FastifyReply } from 'fastify'
import { translateDatabaseFailure } from '../../../../database/errors/error-translation.ts'
import { sendPage } from '../../../../http/responses/send-page.ts'
import { AppError } from '../../../../lib/errors.ts'
import { createPage, submitOnceScript } from '../../../../lib/page.ts'
import type { AccountContext } from '../../accounts/index.ts'
import { providers } from '../../captcha/index.ts'
import { captchaScript } from './captcha-script.ts'
import { passkeyScript } from './passkey-script.ts'

/** Response of the page to a request. */
export class PageReply {
  readonly #reply: FastifyReply
  readonly #appName: string
  readonly #captcha: AccountContext['captcha']

  constructor(reply: FastifyReply, appName: string, captcha: AccountContext['captcha']) {
    this.#reply = reply
    this.#appName = appName
    this.#captcha = captcha
  }

  /** Redirects with 303, so that the browser does not post its form again (RFC 9700 §4.12). */
  redirect(address: string): FastifyReply {
    return this.#reply.code(303).header('cache-control', 'no-store').header('location', address).send()
  }

  /** Shows a user's mistakes on the page. A server fault is logged and reported as everywhere else. */
  async attempt(
    work: () => Promise<FastifyReply>,
    again: (problem: string) => Promise<FastifyReply>,
  ): Promise<FastifyReply> {
    try {
      return await work()
    } catch (thrown) {
      const error = thrown instanceof AppError ? thrown : translateDatabaseFailure(thrown)
      if (error === undefined || error.status === 500) throw thrown
      void this.#reply.code(error.status).headers(error.extras.headers ?? {})
      return await again(`${error.message.charAt(0).toUpperCase()}${error.message.slice(1)}.`)
    }
  }

  /** Sends the page. @param redirectUris where its forms may redirect to */
  send(body: string, redirectUris: readonly string[], status?: number): FastifyReply {
    const reply = this.#reply.header('cache-control', 'no-store').header('referrer-policy', 'same-origin')
    const page = createPage({
      title: 'Give access',
      application: this.#appName,
      body: `<div class="narrow">\n<h1>Give access</h1>\n${body}\n</div>`,
      formTargets: redirectUris.map((uri) => new URL(uri).origin),
      script: scriptOf(body),
      widget: widgetOf(this.#captcha, body),
    })
    return sendPage(status === undefined ? reply : reply.code(status), page)
  }
}

function scriptOf(body: string): string {
  const parts = [
    body.includes(' data-passkey="') ? passkeyScript : '',
    body.includes(' data-captcha="') ? captchaScript : '',
    submitOnceScript,
  ]
  return parts.join('')
}

/** Returns the widget of a provider if a form of the page has one. */
function widgetOf(captcha: AccountContext['captcha'], body: string) {
  if (!body.includes(' data-sitekey="')) return undefined
  const { provider } = captcha
  return provider === 'off' || provider === 'proof_of_work' ? undefined : providers[provider].widget
}
