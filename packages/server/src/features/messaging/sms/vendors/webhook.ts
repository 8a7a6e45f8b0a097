import { randomUUID } from 'node:crypto'
import type { Clock } from '../../../../lib/clock.ts'
import { memberAt } from '../../../../lib/json.ts'
import { signatureHeaders } from '../../../../lib/webhook-signature.ts'
import type { SmsProviderConfig } from '../config.ts'
import { accepted, isSuccess, jsonOf, rejected, type Vendor } from '../vendor.ts'

/**
 * Creates the client of the operator's own sender. It gets `to`, `body` and `timestamp` as JSON, with the
 * headers of Standard Webhooks. `X-Basalt-Signature` is the hex HMAC-SHA256 of the raw body.
 * `X-Webhook-Signature` repeats it for receivers written for other services. Every attempt to send a message
 * has the same `webhook-id`. Any 2xx means accepted, and a JSON response may name the message as
 * `message_id`.
 */
export function webhook(config: SmsProviderConfig, clock: Clock): Vendor {
  const { sms_webhook_url: url, sms_webhook_secret: secret } = config
  return {
    secrets: [secret],
    request({ to, body: text }, id) {
      const at = clock.now()
      const body = JSON.stringify({ to, body: text, timestamp: at.toISOString() })
      const headers = signatureHeaders([secret], { id: id ?? randomUUID(), at, body })
      return {
        url,
        headers: {
          'content-type': 'application/json',
          ...headers,
          'x-webhook-signature': headers['x-basalt-signature'] ?? '',
          ...(id === undefined ? {} : { 'idempotency-key': id }),
        },
        body,
      }
    },
    read: (reply) => (isSuccess(reply) ? accepted(memberAt(jsonOf(reply), 'message_id')) : rejected(reply)),
  }
}
