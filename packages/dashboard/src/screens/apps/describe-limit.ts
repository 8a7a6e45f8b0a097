import { countOf } from '../../ui/format.ts'
import type { App } from './api.ts'

/** Formats a rate limit: `1,000 requests in 60 s`. */
export function describeLimit({
  rateLimitRps,
  rateLimitWindowSeconds,
}: Pick<App, 'rateLimitRps' | 'rateLimitWindowSeconds'>): string {
  return rateLimitRps === 0 ? 'none' : `${countOf(rateLimitRps, 'request')} in ${rateLimitWindowSeconds} s`
}
