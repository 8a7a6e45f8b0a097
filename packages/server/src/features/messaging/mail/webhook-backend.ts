import { randomUUID } from 'node:crypto'
import type { Clock } from '../../../lib/clock.ts'
import { messageOf } from '../../../lib/errors.ts'
import { signatureHeaders } from '../../../lib/webhook-signature.ts'
import type { MailBackend } from './backend.ts'
import type { EmailConfig } from './config.ts'
import { MailRefused } from './refusal.ts'

/** Number of characters shown of a failure response. Little more of it is read. */
const excerptLimit = 200

/** Statuses of the 4xx class after which another attempt may succeed: timeout, too early, too many requests. */
const passing: readonly number[] = [408, 425, 429]

export interface WebhookBackendDeps {
  readonly config: EmailConfig['webhook']
  /** Default sender of mail. */
  readonly sender: string
  readonly clock: Clock
}

/**
 * Creates a backend that posts mail to a service of the operator as signed JSON. Every attempt to send a mail
 * has the same `webhook-id`.
 */
export function createWebhookBackend({ config, sender, clock }: WebhookBackendDeps): MailBackend {
  const secrets = [config.secret === '' ? undefined : config.secret] as const
  return {
    async send({ to, subject, html, text, from = sender, replyTo }, { id = randomUUID() } = {}) {
      const body = JSON.stringify({ to, subject, html, text, from, replyTo })
      const signal = AbortSignal.timeout(config.timeout * 1000)
      const response = await post(config.url, body, signal, {
        'content-type': 'application/json',
        'user-agent': 'Basalt',
        ...signatureHeaders(secrets, { id, at: clock.now(), body }),
      })
      if (response.ok) {
        // The receiver has the mail, however long the rest of its response takes.
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

/** Returns the beginning of the response in one line, as far as it arrived. */
async function readStart(response: Response): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  try {
    for await (const chunk of response.body ?? []) {
      text += decoder.decode(chunk, { stream: true })
      if (text.length >= excerptLimit) break
    }
  } catch {
    // The status is sufficient.
  }
  return text
    .slice(0, excerptLimit)
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim()
}
