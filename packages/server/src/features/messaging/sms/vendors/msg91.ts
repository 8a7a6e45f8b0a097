import { memberAt } from '../../../../lib/json.ts'
import type { SmsProviderConfig } from '../config.ts'
import {
  accepted,
  addressOf,
  isSuccess,
  joinDetail,
  jsonOf,
  notUnderstood,
  postJson,
  rejected,
  rejectedBy,
  type Vendor,
} from '../vendor.ts'

/**
 * Creates the client of MSG91, SMS by flow of API v5. It sends only templates. The template may use
 * `##VAR1##` for the whole message or `##OTP##` for its code. The response has `type` `success` or `error`,
 * often both with status 200.
 */
export function msg91(config: SmsProviderConfig): Vendor {
  const { msg91_auth_key: key, msg91_template_id: template } = config
  return {
    secrets: [key],
    request({ to, body }) {
      const url = addressOf('https://control.msg91.com', config.sms_api_base_url, '/api/v5/flow')
      const recipients = [{ mobiles: to.replace('+', ''), VAR1: body, ...codeIn(body) }]
      const flow = { template_id: template, short_url: '0', recipients }
      return postJson(url, flow, { authkey: key, accept: 'application/json' })
    },
    read(reply) {
      const json = jsonOf(reply)
      const detail = joinDetail(memberAt(json, 'code'), memberAt(json, 'message'))
      if (!isSuccess(reply)) return rejected(reply, detail)
      if (memberAt(json, 'type') === 'success')
        return accepted(memberAt(json, 'request_id') ?? memberAt(json, 'message'))
      return memberAt(json, 'type') === 'error' ? rejectedBy(reply, true, detail) : notUnderstood(reply)
    },
  }
}

/** Finds the code in a message. Codes have 4 to 8 digits. A message with several such numbers has no code. */
function codeIn(body: string): { OTP?: string } {
  const [code, ...others] = body.match(/(?<!\d)\d{4,8}(?!\d)/g) ?? []
  return code === undefined || others.length > 0 ? {} : { OTP: code }
}
