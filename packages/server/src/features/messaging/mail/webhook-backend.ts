import { createHmac } from 'node:crypto'
import type { Config } from '../../../config/schema.ts'
import { messageOf } from '../../../lib/errors.ts'
import type { MailBackend } from './backend.ts'
import { MailRefused } from './refusal.ts'

/** Characters shown of an answer that reports a failure; little more of it is read. */
const shownLimit = 200

/** Statuses of the 4xx class after which another attempt may succeed: timeout, too early, too many requests. */
const passing: readonly number[] = [408, 425, 429]

/** Hands mail to a service of the operator's as signed JSON. */
export function createWebhookBackend(config: Config['email']['webhook'], sender: string): MailBackend {
  return {
    async send({ to, subject, html, text, from = sender, replyTo }, { id } = {}) {
      const body = JSON.stringify({ to, subject, html, text, from, replyTo })
      const signal = AbortSignal.timeout(config.timeout * 1000)
      const response = await post(config.url, body, signal, {
        'content-type': 'application/json',
        'user-agent': 'Basalt',
        ...(config.secret === '' ? {} : { 'x-basalt-signature': sign(body, config.secret) }),
        ...(id === undefined ? {} : { 'webhook-id': id }),
      })
      if (response.ok) {
        // It has the mail; however long its answer takes to come says nothing more.
        await response.body?.cancel()
        return
      }
      const reason = `the mail webhook answered ${response.status}: ${await readStart(response)}`
      const isFinal = response.status >= 400 && response.status < 500 && !passing.includes(response.status)
      throw isFinal ? new MailRefused(reason) : new Error(reason)
    },
    async close() {},
  }
}

function sign(body: string, secret: string): string {
  return createHmac('sha256', secret).update(body).digest('hex')
}

async function post(
  url: string,
  body: string,
  signal: AbortSignal,
  headers: Record<string, string>,
): Promise<Response> {
  try {
    return await fetch(url, { method: 'POST', body, headers, signal, redirect: 'manual' })
  } catch (error) {
    if (signal.aborted) throw new Error('the mail webhook took too long', { cause: error })
    const cause = error instanceof Error && error.cause !== undefined ? error.cause : error
    throw new Error(`the mail webhook cannot be reached: ${messageOf(cause)}`, { cause: error })
  }
}

/** The beginning of the answer in one line, as far as it came. */
async function readStart(response: Response): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  try {
    for await (const chunk of response.body ?? []) {
      text += decoder.decode(chunk, { stream: true })
      if (text.length >= shownLimit) break
    }
  } catch {
    // The status has said what matters.
  }
  return text
    .slice(0, shownLimit)
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim()
}
