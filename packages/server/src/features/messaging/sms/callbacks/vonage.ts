import { createHash, createHmac } from 'node:crypto'
import { memberAt } from '../../../../lib/json.ts'
import { isFresh, isSameSignature } from '../../../../lib/signatures.ts'
import { joinDetail, jsonOf } from '../vendor.ts'
import { headerOf, parseBody, type StatusCallback, statusOf, textOf } from './callback.ts'

const names = {
  submitted: 'sent',
  buffered: 'sending',
  expired: 'undelivered',
  rejected: 'failed',
  undeliverable: 'undelivered',
  read: 'delivered',
} as const

/** Creates the callback of Vonage: JSON, signed by a JWT (HS256) in `Authorization` with the SHA-256 of the body. */
export function vonageCallback(secret: string, apiKey: string): StatusCallback {
  return {
    provider: 'vonage',
    header: 'authorization',
    idName: 'messageId',
    isSigned(request) {
      const [head = '', claims = '', signature = '', ...rest] = headerOf(request, 'authorization')
        .replace(/^Bearer /i, '')
        .split('.')
      const expected = createHmac('sha256', secret).update(`${head}.${claims}`, 'utf8').digest('base64url')
      if (rest.length > 0 || !isSameSignature(signature, expected)) return false
      const claim = (part: string, name: string) => memberAt(decode(part), name)
      const hash = createHash('sha256').update(request.body).digest('hex')
      return (
        claim(head, 'alg') === 'HS256' &&
        claim(claims, 'api_key') === apiKey &&
        isSameSignature(String(claim(claims, 'payload_hash')), hash) &&
        isFresh(claim(claims, 'iat'), request.now)
      )
    },
    read(body) {
      const json = parseBody(body)
      const code = textOf(joinDetail(memberAt(json, 'err-code'), memberAt(json, 'error', 'title')))
      return {
        messageId: textOf(memberAt(json, 'messageId') ?? memberAt(json, 'message_uuid')),
        status: statusOf(memberAt(json, 'status'), names),
        error: code === '0' ? undefined : code,
      }
    },
  }
}

function decode(part: string): unknown {
  return jsonOf({ status: 200, text: Buffer.from(part, 'base64url').toString('utf8') })
}
