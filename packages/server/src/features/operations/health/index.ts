import { Type } from 'typebox'
import { sql } from '../../../database/sql.ts'
import type { SystemDatabase } from '../../../database/system-database.ts'
import type { Feature } from '../../../feature.ts'

export interface HealthDeps {
  readonly database: SystemDatabase
  readonly isStopping: () => boolean
}

/** The database has this long to answer (facts, Health). */
const pingTimeoutMs = 2000

const healthSchema = Type.Object({
  status: Type.String({ description: 'ok, degraded or stopping' }),
  database: Type.String({ description: 'ok or unreachable' }),
})

/** `GET /health`: 200 when the server runs and the database answers; 503 tells a load balancer to go elsewhere. */
export function health({ database, isStopping }: HealthDeps): Feature {
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
          const isReachable = await ping(database)
          return isReachable
            ? reply.send({ status: 'ok', database: 'ok' })
            : reply.code(503).header('retry-after', '1').send({ status: 'degraded', database: 'unreachable' })
        },
      )
    },
  }
}

async function ping(database: SystemDatabase): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), pingTimeoutMs)
  })
  const answer = database.one(sql`select 1 as answer`).then(
    () => true,
    () => false,
  )
  const isReachable = await Promise.race([answer, timeout])
  clearTimeout(timer)
  return isReachable
}
