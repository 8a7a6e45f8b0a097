import { createHmac } from 'node:crypto'
import { memberAt } from '../../../../lib/json.ts'
import { isSameSignature } from '../../../../lib/signatures.ts'
import { headerOf, parseBody, type StatusCallback, statusOf, textOf } from './callback.ts'

/**
 * Creates the callback of the operator's own sender: JSON with `message_id`, `status` and `error`, signed by
 * the hex HMAC-SHA256 of the body.
 */
export function webhookCallback(secret: string): StatusCallback {
  const header = 'x-webhook-signature'
  return {
    provider: 'webhook',
    header,
    idName: 'message_id',
    isSigned(request) {
      const expected = createHmac('sha256', secret).update(request.body).digest('hex')
      return isSameSignature(headerOf(request, header), expected)
    },
    read(body) {
      const json = parseBody(body)
      return {
        messageId: textOf(memberAt(json, 'message_id')),
        status: statusOf(memberAt(json, 'status')),
        error: textOf(memberAt(json, 'error')),
      }
    },
  }
}
