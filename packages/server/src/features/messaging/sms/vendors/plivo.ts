import type { SmsProviderConfig } from '../config.ts'
import { addressOf, basicAuthorization, callbackIn, postJson, readReceipt, type Vendor } from '../vendor.ts'

/** Creates the client of Plivo, Message API v1. The response is 202 with `message_uuid`, one for each number. */
export function plivo(config: SmsProviderConfig): Vendor {
  const { plivo_auth_id: id, plivo_auth_token: token, plivo_from: src } = config
  return {
    secrets: [id, token],
    request({ to, body }) {
      const path = `/v1/Account/${encodeURIComponent(id)}/Message/`
      const url = addressOf('https://api.plivo.com', config.sms_api_base_url, path)
      return postJson(
        url,
        { src, dst: to, text: body, ...callbackIn('url', config) },
        { authorization: basicAuthorization(id, token) },
      )
    },
    read: (reply) => readReceipt(reply, ['message_uuid', 0], [['error']]),
  }
}
