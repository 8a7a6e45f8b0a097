import type { Config } from '../../../../config/schema.ts'
import {
  accepted,
  addressOf,
  basicAuthorization,
  encodeForm,
  formType,
  isSuccess,
  joinDetail,
  jsonOf,
  memberAt,
  notUnderstood,
  rejected,
  type Vendor,
} from '../vendor.ts'

/** Twilio, Messages resource of the API of 2010-04-01. Answers 201 with the message's `sid`. */
export function twilio(config: Config['auth']): Vendor {
  const { twilio_sid: sid, twilio_token: token, twilio_from: from } = config
  return {
    secrets: [sid, token],
    request: ({ to, body }) => ({
      url: addressOf(
        'https://api.twilio.com',
        config.sms_api_base_url,
        `/2010-04-01/Accounts/${encodeURIComponent(sid)}/Messages.json`,
      ),
      headers: { authorization: basicAuthorization(sid, token), 'content-type': formType },
      body: encodeForm({ To: to, From: from, Body: body }),
    }),
    read(reply) {
      const json = jsonOf(reply)
      if (!isSuccess(reply)) {
        return rejected(reply, joinDetail(memberAt(json, 'code'), memberAt(json, 'message')))
      }
      return typeof memberAt(json, 'sid') === 'string' ? accepted : notUnderstood(reply)
    },
  }
}
