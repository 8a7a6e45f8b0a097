import type { SmsProviderConfig } from '../config.ts'
import { addressOf, basicAuthorization, callbackIn, postForm, readReceipt, type Vendor } from '../vendor.ts'

/**
 * Creates the client of Twilio, Messages resource of the API of 2010-04-01. The response is 201 with the
 * message's `sid`.
 */
export function twilio(config: SmsProviderConfig): Vendor {
  const { twilio_sid: sid, twilio_token: token, twilio_from: from } = config
  return {
    secrets: [sid, token],
    request({ to, body }) {
      const path = `/2010-04-01/Accounts/${encodeURIComponent(sid)}/Messages.json`
      const url = addressOf('https://api.twilio.com', config.sms_api_base_url, path)
      const authorization = basicAuthorization(sid, token)
      return postForm(
        url,
        { To: to, From: from, Body: body, ...callbackIn('StatusCallback', config) },
        { authorization },
      )
    },
    read: (reply) => readReceipt(reply, ['sid'], [['code'], ['message']]),
  }
}
