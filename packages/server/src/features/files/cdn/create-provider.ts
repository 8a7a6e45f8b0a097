import type { Clock } from '../../../lib/clock.ts'
import type { CdnConfig } from './config.ts'
import type { CdnProvider } from './provider.ts'
import { cloudflare } from './providers/cloudflare.ts'
import { cloudfront } from './providers/cloudfront.ts'
import { webhook } from './providers/webhook.ts'

/** Creates the configured provider; undefined without a content delivery network. */
export function createCdnProvider(config: CdnConfig, clock: Clock): CdnProvider | undefined {
  switch (config.provider) {
    case 'nop':
      return undefined
    case 'cloudflare':
      return cloudflare(config.cloudflare)
    case 'cloudfront':
      return cloudfront(config.cloudfront, clock)
    case 'webhook':
      return webhook(config.webhook, clock)
  }
}
