import type { Clock } from '../../../../lib/clock.ts'
import { signatureHeaders } from '../../../../lib/webhook-signature.ts'
import type { CdnConfig } from '../config.ts'
import { type CdnProvider, readStatus } from '../provider.ts'

/**
 * Creates the provider for the operator’s own service. It receives `operation` and `public_urls` as JSON, with the
 * headers of Standard Webhooks. `X-CDN-Webhook-Signature` holds the hex HMAC-SHA256 of the raw body. Every attempt has
 * the same `webhook-id`. Any 2xx means accepted.
 */
export function webhook({ endpoint, signing_secret }: CdnConfig['webhook'], clock: Clock): CdnProvider {
  return {
    batchSize: Number.MAX_SAFE_INTEGER,
    request(purge, id) {
      const urls = purge.operation === 'purge_all' ? [] : purge.urls
      const body = JSON.stringify({ operation: purge.operation, public_urls: urls })
      const headers = signatureHeaders([signing_secret], { id, at: clock.now(), body })
      return {
        url: endpoint,
        headers: {
          'content-type': 'application/json',
          ...headers,
          'x-cdn-webhook-signature': headers['x-basalt-signature'] ?? '',
        },
        body,
      }
    },
    read: (reply) => readStatus(reply),
  }
}
