import { createHmac } from 'node:crypto'
import { isSameSignature } from '../../../../lib/signatures.ts'
import { joinDetail } from '../vendor.ts'
import { headerOf, type StatusCallback, sortedFields, statusOf, textOf } from './callback.ts'

/** Creates the callback of Twilio: a form, signed by HMAC-SHA1 over the address and the fields sorted by name. */
export function twilioCallback(token: string): StatusCallback {
  const header = 'x-twilio-signature'
  return {
    provider: 'twilio',
    header,
    idName: 'MessageSid',
    isSigned(request) {
      const fields = sortedFields(request.body).flat().join('')
      return request.urls.some((url) => {
        const expected = createHmac('sha1', token)
          .update(url + fields, 'utf8')
          .digest('base64')
        return isSameSignature(headerOf(request, header), expected)
      })
    },
    read(body) {
      const fields = new URLSearchParams(body.toString('utf8'))
      return {
        messageId: textOf(fields.get('MessageSid')),
        status: statusOf(fields.get('MessageStatus'), { scheduled: 'accepted', read: 'delivered' }),
        error: textOf(joinDetail(fields.get('ErrorCode'), fields.get('ErrorMessage'))),
      }
    },
  }
}
