import type { OutboundReply } from '../../../../http/outbound.ts'
import type { CdnConfig } from '../config.ts'
import { addressOf, type CdnProvider, readStatus } from '../provider.ts'

/** Creates the Cloudflare provider: `POST /zones/{zone_id}/purge_cache` with 30 addresses per request. */
export function cloudflare({ zone_id, api_token, base_url }: CdnConfig['cloudflare']): CdnProvider {
  const path = `/client/v4/zones/${encodeURIComponent(zone_id)}/purge_cache`
  return {
    batchSize: 30,
    request: (purge) => ({
      url: addressOf('https://api.cloudflare.com', base_url, path),
      headers: { 'content-type': 'application/json', authorization: `Bearer ${api_token}` },
      body: JSON.stringify(
        purge.operation === 'purge_all' ? { purge_everything: true } : { files: purge.urls },
      ),
    }),
    read(reply) {
      const outcome = readStatus(reply, firstCode(reply))
      if (!outcome.isAccepted || /"success"\s*:\s*true/.test(reply.text)) return outcome
      return { isAccepted: false, isFinal: false, reason: `HTTP ${reply.status} without a success` }
    },
  }
}

/** Returns the number in `{"errors": [{"code": 10000, …}]}`. */
function firstCode({ text }: OutboundReply): string {
  return /"code"\s*:\s*(\d{1,9})/.exec(text)?.[1] ?? ''
}
