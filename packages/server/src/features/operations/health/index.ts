import type { Connection } from '../../../database/connection/connection.ts'
import type { Feature } from '../../../feature.ts'
import { component } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'
import { DatabaseProbe } from './probe.ts'

export interface HealthDeps {
  /** Opens a connection beside the pools. */
  readonly open: () => Promise<Connection>
  readonly isStopping: () => boolean
}

const healthSchema = component(
  'Health',
  Type.Object({
    status: Type.String({ description: 'ok, degraded or stopping' }),
    database: Type.String({ description: 'ok or unreachable' }),
  }),
)

/** `GET /health`: 200 when the server runs and the database answers; 503 takes the node out of a load balancer. */
export function health({ open, isStopping }: HealthDeps): Feature {
  const probe = new DatabaseProbe(open)
  return {
    name: 'health',
    routes(app) {
      app.get(
        '/health',
        {
          config: { guard: 'public', operation: 'health.check' },
          schema: {
            tags: ['operations'],
            summary: 'Whether the server runs and the database is reachable',
            response: { 200: healthSchema, 503: healthSchema },
          },
        },
        async (_request, reply) => {
          void reply.header('cache-control', 'no-store')
          if (isStopping()) return reply.code(503).send({ status: 'stopping', database: 'ok' })
          const isReachable = await probe.isReachable()
          return isReachable
            ? reply.send({ status: 'ok', database: 'ok' })
            : reply.code(503).header('retry-after', '1').send({ status: 'degraded', database: 'unreachable' })
        },
      )
    },
    stop: () => probe.close(),
  }
}
