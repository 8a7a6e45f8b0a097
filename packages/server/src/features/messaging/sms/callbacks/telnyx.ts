import { createPublicKey, verify } from 'node:crypto'
import { memberAt } from '../../../../lib/json.ts'
import { isFresh } from '../../../../lib/signatures.ts'
import { joinDetail } from '../vendor.ts'
import { headerOf, parseBody, type StatusCallback, statusOf, textOf } from './callback.ts'

const names = {
  sending_failed: 'failed',
  delivery_failed: 'undelivered',
  // The carrier reports no further status.
  delivery_unconfirmed: 'sent',
} as const

/** Creates the callback of Telnyx, API v2: JSON, signed by Ed25519 over the time and the body. */
export function telnyxCallback(publicKey: string): StatusCallback {
  const header = 'telnyx-signature-ed25519'
  // The raw key as a JWK (RFC 8037 §2).
  const x = Buffer.from(publicKey, 'base64').toString('base64url')
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
  return {
    provider: 'telnyx',
    header,
    idName: 'data.payload.id',
    isSigned(request) {
      const time = headerOf(request, 'telnyx-timestamp')
      if (!/^\d+$/.test(time) || !isFresh(time, request.now)) return false
      const signature = Buffer.from(headerOf(request, header), 'base64')
      return verify(null, Buffer.concat([Buffer.from(`${time}|`), request.body]), key, signature)
    },
    read(body) {
      const payload = memberAt(parseBody(body), 'data', 'payload')
      const error = (name: string) => memberAt(payload, 'errors', 0, name)
      return {
        messageId: textOf(memberAt(payload, 'id')),
        status: statusOf(memberAt(payload, 'to', 0, 'status'), names),
        error: textOf(joinDetail(error('code'), error('title'))),
      }
    },
  }
}
