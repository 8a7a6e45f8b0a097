import { createHmac } from 'node:crypto'
import type { Config } from '../../../../config/schema.ts'
import type { Clock } from '../../../../lib/clock.ts'
import { accepted, isSuccess, jsonOf, memberAt, rejected, type Vendor } from '../vendor.ts'

/**
 * The operator's own sender: gets `to`, `body` and `timestamp` as JSON, with the hex HMAC-SHA256 of the raw body
 * in `X-Basalt-Signature`, and the same in `X-Webhook-Signature`, which receivers written for other services
 * expect. Any 2xx means taken; a JSON reply may name the message as
 * `message_id`.
 */
export function webhook(config: Config['auth'], clock: Clock): Vendor {
  const { sms_webhook_url: url, sms_webhook_secret: secret } = config
  return {
    secrets: [secret],
    request({ to, body: text }, id) {
      const body = JSON.stringify({ to, body: text, timestamp: clock.now().toISOString() })
      const signature = createHmac('sha256', secret).update(body, 'utf8').digest('hex')
      return {
        url,
        headers: {
          'content-type': 'application/json',
          'x-basalt-signature': signature,
          'x-webhook-signature': signature,
          ...(id === undefined ? {} : { 'idempotency-key': id }),
        },
        body,
      }
    },
    read: (reply) => (isSuccess(reply) ? accepted(memberAt(jsonOf(reply), 'message_id')) : rejected(reply)),
  }
}
