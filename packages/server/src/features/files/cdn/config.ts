import { choice, plain, secret, signingSecret, webAddress } from '../../../config/keys.ts'
import type { ConfigRule, RuleViolation } from '../../../config/rule.ts'
import { type Static, Type } from '../../../lib/type.ts'

/** `storage.cdn`: the content delivery network before the server, which keeps copies of what it serves. */
export const cdnConfig = Type.Object({
  provider: choice(
    'nop',
    ['nop', 'cloudflare', 'cloudfront', 'webhook'],
    'What removes copies from the content delivery network; nop: there is none.',
  ),
  cloudflare: Type.Object({
    zone_id: plain('Zone of Cloudflare.'),
    api_token: secret('API token of Cloudflare with the permission to purge the cache of the zone.'),
    base_url: webAddress("Address of the API of Cloudflare, when it is not Cloudflare's own (a stand-in)."),
  }),
  cloudfront: Type.Object({
    distribution_id: plain('Distribution of Amazon CloudFront.'),
    access_key_id: plain('AWS access key of CloudFront.'),
    secret_access_key: secret('AWS secret key of CloudFront.'),
    base_url: webAddress("Address of the API of CloudFront, when it is not Amazon's own (a stand-in)."),
  }),
  webhook: Type.Object({
    endpoint: webAddress('Address that the webhook provider posts purges to.'),
    signing_secret: signingSecret(
      'Key that signs what the webhook provider posts, as Standard Webhooks do: any text, or whsec_ and base64.',
    ),
  }),
})

export type CdnConfig = Static<typeof cdnConfig>

/** Rules of `storage.cdn`. */
export const cdnRules: readonly ConfigRule<Sections>[] = [cdnProviderNeedsItsKeys]

interface Sections {
  readonly storage: { readonly cdn: CdnConfig }
}

function cdnProviderNeedsItsKeys({ storage: { cdn } }: Sections): RuleViolation[] {
  const { provider, cloudflare, cloudfront, webhook } = cdn
  const needed = {
    nop: {},
    cloudflare: { zone_id: cloudflare.zone_id, api_token: cloudflare.api_token },
    cloudfront: {
      distribution_id: cloudfront.distribution_id,
      access_key_id: cloudfront.access_key_id,
      secret_access_key: cloudfront.secret_access_key,
    },
    webhook: { endpoint: webhook.endpoint, signing_secret: webhook.signing_secret },
  }
  return Object.entries<string>(needed[provider])
    .filter(([, value]) => value.trim() === '')
    .map(([name]) => ({
      key: `storage.cdn.${provider}.${name}`,
      problem: `required with storage.cdn.provider = "${provider}"`,
    }))
}
