import type { Config } from '../../../../config/schema.ts'
import {
  accepted,
  addressOf,
  basicAuthorization,
  isSuccess,
  joinDetail,
  jsonOf,
  memberAt,
  notUnderstood,
  rejected,
  type Vendor,
} from '../vendor.ts'

/** Plivo, Message API v1. Answers 202 with `message_uuid`, one for each number. */
export function plivo(config: Config['auth']): Vendor {
  const { plivo_auth_id: id, plivo_auth_token: token, plivo_from: src } = config
  return {
    secrets: [id, token],
    request: ({ to, body }) => ({
      url: addressOf(
        'https://api.plivo.com',
        config.sms_api_base_url,
        `/v1/Account/${encodeURIComponent(id)}/Message/`,
      ),
      headers: { authorization: basicAuthorization(id, token), 'content-type': 'application/json' },
      body: JSON.stringify({ src, dst: to, text: body }),
    }),
    read(reply) {
      const json = jsonOf(reply)
      if (!isSuccess(reply)) return rejected(reply, joinDetail(memberAt(json, 'error')))
      return typeof memberAt(json, 'message_uuid', 0) === 'string' ? accepted : notUnderstood(reply)
    },
  }
}
