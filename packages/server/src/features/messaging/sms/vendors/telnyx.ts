import type { Config } from '../../../../config/schema.ts'
import {
  accepted,
  addressOf,
  isSuccess,
  joinDetail,
  jsonOf,
  memberAt,
  notUnderstood,
  rejected,
  type Vendor,
} from '../vendor.ts'

/** Telnyx, Messages of API v2. Answers 200 with `data.id`, else a list of `errors`; knows idempotency keys. */
export function telnyx(config: Config['auth']): Vendor {
  const { telnyx_api_key: key, telnyx_from: from } = config
  return {
    secrets: [key],
    request: ({ to, body }, id) => ({
      url: addressOf('https://api.telnyx.com', config.sms_api_base_url, '/v2/messages'),
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        ...(id === undefined ? {} : { 'idempotency-key': id }),
      },
      body: JSON.stringify({ from, to, text: body }),
    }),
    read(reply) {
      const json = jsonOf(reply)
      if (!isSuccess(reply)) {
        const error = memberAt(json, 'errors', 0)
        return rejected(
          reply,
          joinDetail(...['code', 'title', 'detail'].map((name) => memberAt(error, name))),
        )
      }
      return typeof memberAt(json, 'data', 'id') === 'string' ? accepted : notUnderstood(reply)
    },
  }
}
