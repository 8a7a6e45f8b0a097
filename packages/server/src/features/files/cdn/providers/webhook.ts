import { createHmac } from 'node:crypto'
import type { Config } from '../../../../config/schema.ts'
import { type CdnProvider, readStatus } from '../provider.ts'

/**
 * The operator's own service: gets `operation` and `public_urls` as JSON, with the hex HMAC-SHA256 of the raw body in
 * `X-CDN-Webhook-Signature`, and the same `Webhook-Id` for every attempt. Any 2xx means taken.
 */
export function webhook({ endpoint, signing_secret }: Config['storage']['cdn']['webhook']): CdnProvider {
  return {
    batchSize: Number.MAX_SAFE_INTEGER,
    request(purge, id) {
      const urls = purge.operation === 'purge_all' ? [] : purge.urls
      const body = JSON.stringify({ operation: purge.operation, public_urls: urls })
      const signature = createHmac('sha256', signing_secret).update(body).digest('hex')
      return {
        url: endpoint,
        headers: {
          'content-type': 'application/json',
          'x-cdn-webhook-signature': signature,
          'webhook-id': id,
        },
        body,
      }
    },
    read: (reply) => readStatus(reply),
  }
}
