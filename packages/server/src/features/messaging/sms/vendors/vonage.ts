import { memberAt } from '../../../../lib/json.ts'
import type { SmsProviderConfig } from '../config.ts'
import {
  accepted,
  addressOf,
  callbackIn,
  isSuccess,
  joinDetail,
  jsonOf,
  notUnderstood,
  postForm,
  rejected,
  rejectedBy,
  type Vendor,
} from '../vendor.ts'

/**
 * Temporary statuses: 1 throttled, 5 internal error, 10 too many existing binds. Every other status except 0
 * is final.
 */
const temporary = ['1', '5', '10']

/**
 * Creates the client of Vonage, SMS API. The response is always 200. Each part of the message has a `status`,
 * which is `"0"` when it was accepted.
 */
export function vonage(config: SmsProviderConfig): Vendor {
  const { vonage_api_key: key, vonage_api_secret: secret, vonage_from: from } = config
  return {
    secrets: [key, secret],
    request: ({ to, body }) =>
      postForm(addressOf('https://rest.nexmo.com', config.sms_api_base_url, '/sms/json'), {
        api_key: key,
        api_secret: secret,
        from,
        to: to.replace('+', ''),
        text: body,
        // Characters outside the GSM alphabet arrive as question marks unless they are announced.
        ...callbackIn('callback', config),
        type: /^[\n\r\x20-\x5f\x61-\x7e]*$/.test(body) ? 'text' : 'unicode',
      }),
    read(reply) {
      const json = jsonOf(reply)
      if (!isSuccess(reply)) return rejected(reply, joinDetail(memberAt(json, 'title')))
      const parts = memberAt(json, 'messages')
      if (!Array.isArray(parts) || parts.length === 0) return notUnderstood(reply)
      const failed: unknown = parts.find((part) => statusOf(part) !== '0')
      if (failed === undefined) return accepted(memberAt(parts[0], 'message-id'))
      const status = statusOf(failed)
      if (status === '') return notUnderstood(reply)
      const detail = joinDetail('status', status, memberAt(failed, 'error-text'))
      return rejectedBy(reply, !temporary.includes(status), detail)
    },
  }
}

function statusOf(part: unknown): string {
  return joinDetail(memberAt(part, 'status'))
}
