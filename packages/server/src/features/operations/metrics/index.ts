import { createHash, timingSafeEqual } from 'node:crypto'
import type { Feature } from '../../../feature.ts'
import { httpErrors } from '../../../http/errors/errors.ts'
import type { Metrics } from '../../../http/observation/metrics.ts'
import { responses } from '../../../http/schemas.ts'
import type { AppError } from '../../../lib/errors.ts'
import { Type } from '../../../lib/type.ts'

/** `GET /metrics` in the Prometheus text format, behind a token of its own when one is configured. */
export function metrics(collected: Metrics, token: string): Feature {
  return {
    name: 'metrics',
    routes(app) {
      app.get(
        '/metrics',
        {
          config: { guard: 'public', operation: 'metrics.get' },
          schema: {
            tags: ['operations'],
            summary: 'Metrics in the Prometheus text format',
            description:
              'For everyone, or for callers that send `metrics.token` as bearer token when it is set.',
            response: responses({ 200: { description: 'Metrics.', content: { 'text/plain': plainText } } }),
          },
        },
        async (request, reply) => {
          const refusal = token === '' ? undefined : judge(request.headers.authorization, token)
          if (refusal !== undefined) throw refusal.with({ headers: { 'www-authenticate': 'Bearer' } })
          const { contentType, text } = await collected.render()
          return reply.type(contentType).header('cache-control', 'no-store').send(text)
        },
      )
    },
  }
}

const plainText = { schema: Type.String() }

function judge(authorization: string | undefined, token: string): AppError | undefined {
  if (authorization === undefined) return httpErrors.missingAuthorization()
  return isEqual(authorization, `Bearer ${token}`) ? undefined : httpErrors.invalidToken()
}

/** In a time that does not depend on where the texts differ. */
function isEqual(one: string, other: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(one), digest(other))
}
