import { createHmac } from 'node:crypto'
import { isSameSignature } from '../../../../lib/signatures.ts'
import { headerOf, type StatusCallback, sortedFields, statusOf, textOf } from './callback.ts'

/**
 * Creates the callback of Plivo, signature V3: a form, signed by HMAC-SHA256 over the address, the fields
 * sorted by name, and a nonce.
 */
export function plivoCallback(token: string): StatusCallback {
  const header = 'x-plivo-signature-v3'
  return {
    provider: 'plivo',
    header,
    idName: 'MessageUUID',
    isSigned(request) {
      const nonce = headerOf(request, `${header}-nonce`)
      const fields = sortedFields(request.body).flat().join('')
      // While its tokens are being replaced, it signs with both.
      const signatures = headerOf(request, header).split(',')
      return request.urls.some((url) => {
        const signed = `${url}${fields === '' ? '' : `${url.includes('?') ? '.' : '?'}${fields}`}.${nonce}`
        const expected = createHmac('sha256', token).update(signed, 'utf8').digest('base64')
        return nonce !== '' && signatures.some((signature) => isSameSignature(signature.trim(), expected))
      })
    },
    read(body) {
      const fields = new URLSearchParams(body.toString('utf8'))
      const code = textOf(fields.get('ErrorCode'))
      return {
        messageId: textOf(fields.get('MessageUUID')),
        status: statusOf(fields.get('Status'), { rejected: 'failed', read: 'delivered' }),
        error: code === '000' ? undefined : code,
      }
    },
  }
}
