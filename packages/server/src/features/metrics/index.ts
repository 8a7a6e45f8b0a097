import { createHash, timingSafeEqual } from 'node:crypto'
import type { Feature } from '../../feature.ts'
import { httpErrors } from '../../http/errors.ts'
import type { Metrics } from '../../http/metrics.ts'

/** `GET /metrics` in the Prometheus text format, behind a token of its own when one is configured. */
export function metrics({ registry }: Metrics, token: string): Feature {
  return {
    name: 'metrics',
    routes(app) {
      app.get(
        '/metrics',
        {
          config: { guard: 'public', operation: 'metrics.get' },
          schema: { tags: ['operations'], summary: 'Metrics in the Prometheus text format' },
        },
        async (request, reply) => {
          if (token !== '' && !isEqual(request.headers.authorization ?? '', `Bearer ${token}`)) {
            throw httpErrors.invalidToken().with({ headers: { 'www-authenticate': 'Bearer' } })
          }
          return reply
            .type(registry.contentType)
            .header('cache-control', 'no-store')
            .send(await registry.metrics())
        },
      )
    },
  }
}

/** In a time that does not depend on where the texts differ. */
function isEqual(one: string, other: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(one), digest(other))
}
