import type { SmsProviderConfig } from '../config.ts'
import { addressOf, callbackIn, postJson, readReceipt, type Vendor } from '../vendor.ts'

/**
 * Creates the client of Telnyx, Messages of API v2. The response is 200 with `data.id`, or a list of
 * `errors`. It supports idempotency keys.
 */
export function telnyx(config: SmsProviderConfig): Vendor {
  const { telnyx_api_key: key, telnyx_from: from } = config
  return {
    secrets: [key],
    request({ to, body }, id) {
      const url = addressOf('https://api.telnyx.com', config.sms_api_base_url, '/v2/messages')
      const repeatable = id === undefined ? {} : { 'idempotency-key': id }
      return postJson(
        url,
        { from, to, text: body, ...callbackIn('webhook_url', config) },
        { authorization: `Bearer ${key}`, ...repeatable },
      )
    },
    read: (reply) =>
      readReceipt(
        reply,
        ['data', 'id'],
        ['code', 'title', 'detail'].map((name) => ['errors', 0, name]),
      ),
  }
}
