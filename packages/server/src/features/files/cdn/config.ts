import { choice, plain, secret, signingSecret, webAddress } from '../../../config/keys.ts'
import type { ConfigRule, RuleViolation } from '../../../config/rule.ts'
import { type Static, Type } from '../../../lib/type.ts'

/**
 * Configuration section `storage.cdn`: the content delivery network in front of the server, which keeps copies of
 * responses.
 */
export const cdnConfig = Type.Object({
  provider: choice(
    'nop',
    ['nop', 'cloudflare', 'cloudfront', 'webhook'],
    'Provider that removes copies from the content delivery network. `nop`: there is no such network.',
  ),
  cloudflare: Type.Object({
    zone_id: plain('Cloudflare zone.'),
    api_token: secret('Cloudflare API token with the permission to purge the cache of the zone.'),
    base_url: webAddress('Address of the Cloudflare API. Default: the public one. Set it for a stand-in.'),
  }),
  cloudfront: Type.Object({
    distribution_id: plain('Amazon CloudFront distribution.'),
    access_key_id: plain('AWS access key for CloudFront.'),
    secret_access_key: secret('AWS secret key for CloudFront.'),
    base_url: webAddress('Address of the CloudFront API. Default: the public one. Set it for a stand-in.'),
  }),
  webhook: Type.Object({
    endpoint: webAddress('Address to which the webhook provider posts purges.'),
    signing_secret: signingSecret(
      'Key that signs requests of the webhook provider, as in Standard Webhooks: any text, or whsec_ and base64.',
    ),
  }),
})

export type CdnConfig = Static<typeof cdnConfig>

/** Configuration rules of `storage.cdn`. */
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
