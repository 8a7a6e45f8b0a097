import type { Outbound, OutboundReply } from '../../../http/outbound.ts'
import type { Clock } from '../../../lib/clock.ts'
import type { SecretBox } from '../../../lib/secret-box.ts'
import { signatureHeaders } from '../../../lib/webhook-signature.ts'
import type { Outcome } from './delivery.ts'
import type { Receiver } from './webhook.ts'

/** Time limit of an attempt in milliseconds. */
const timeoutMs = 10_000
const replyLimit = 64 * 1024

export interface Message extends Receiver {
  /** Value of the header `webhook-id`. */
  readonly id: string
  readonly body: string
}

/** Function that makes one attempt: it signs, sends and returns the outcome. It never throws. */
export type Send = (
  message: Message,
  signal?: AbortSignal,
) => Promise<Outcome & Pick<OutboundReply, 'headers'>>

export interface SendDeps {
  readonly outbound: Outbound
  readonly secrets: () => SecretBox
  readonly clock: Clock
}

export function createSend({ outbound, secrets, clock }: SendDeps): Send {
  return async ({ webhookId, url, secret, previousSecret, id, body }, signal) => {
    const open = (sealed: string | null) =>
      sealed === null ? undefined : secrets().open(sealed, secretContext(webhookId))?.toString('utf8')
    const opened = open(secret)
    if (secret !== null && opened === undefined) {
      // An unsigned request must not be sent, because the receiver could not distinguish it from a forgery.
      const error = 'the secret cannot be decrypted: set it again, or restore auth.encryption_key'
      return {
        success: false,
        statusCode: undefined,
        durationMs: 0,
        error,
        responseBody: undefined,
        headers: {},
      }
    }
    const startedAt = performance.now()
    const { status, headers, text, error } = await outbound.post({
      url,
      headers: {
        'content-type': 'application/json',
        'user-agent': 'Basalt',
        ...signatureHeaders([opened, open(previousSecret)], { id, at: clock.now(), body }),
      },
      body,
      timeoutMs,
      replyLimit,
      ...(signal === undefined ? {} : { signal }),
    })
    const durationMs = Math.round(performance.now() - startedAt)
    const success = error === undefined && status !== undefined && status >= 200 && status < 300
    return {
      success,
      statusCode: status,
      durationMs,
      error: success ? undefined : (error ?? `the receiver answered ${status}`),
      responseBody: status === undefined ? undefined : text,
      headers,
    }
  }
}

/** Returns the context that binds an encrypted secret to its webhook. */
export function secretContext(webhookId: string): string {
  return `webhook ${webhookId}`
}
