import type { Connection } from '../../../database/connection/connection.ts'
import type { Feature } from '../../../feature.ts'
import { addOperations, ok, operation } from '../../../http/operation.ts'
import { choice, component } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'
import type { Machine } from '../../../machine.ts'
import { DatabaseProbe } from './probe.ts'

const Health = component(
  'Health',
  Type.Object({
    status: choice(['ok', 'degraded', 'stopping']),
    database: choice(['ok', 'unreachable']),
    workers: Type.Optional(
      Type.Object(
        {
          serving: Type.Integer(),
          total: Type.Integer(),
          reloading: Type.Optional(
            Type.Literal(true, { description: 'Present while a reload starts other workers.' }),
          ),
        },
        { description: 'Workers that serve, of those of `server.workers`. Absent with a single process.' },
      ),
    ),
  }),
)

interface HealthContext {
  readonly probe: DatabaseProbe
  readonly isStopping: () => boolean
  readonly machine: Pick<Machine, 'countWorkers'> | undefined
}

/**
 * Health check that returns 200 while the server runs and the database responds. 503 removes the node from a
 * load balancer.
 */
const check = operation({
  id: 'health.check',
  guard: 'public',
  method: 'GET',
  path: '/health',
  tag: 'operations',
  summary: 'Check that the server runs and the database is reachable',
  success: ok(Health),
  otherResponses: { 503: Health },
  async handle({ probe, isStopping, machine }: HealthContext, _request, reply) {
    void reply.header('cache-control', 'no-store')
    const status = isStopping() ? 'stopping' : (await probe.isReachable()) ? 'ok' : 'degraded'
    if (status !== 'ok') void reply.code(503)
    if (status === 'degraded') void reply.header('retry-after', '1')
    const database = status === 'degraded' ? 'unreachable' : 'ok'
    if (machine === undefined) return { status, database } as const
    const { serving, total, isReloading } = machine.countWorkers()
    const workers = { serving, total, ...(isReloading ? { reloading: true as const } : {}) }
    return { status, database, workers } as const
  },
})

export interface HealthDeps extends Omit<HealthContext, 'probe'> {
  /** Opens a connection outside the pools. */
  readonly open: () => Promise<Connection>
}

/** Makes the feature of the health check for load balancers. */
export function health({ open, ...context }: HealthDeps): Feature {
  const probe = new DatabaseProbe(open)
  return {
    name: 'health',
    routes: (app) => addOperations(app, { probe, ...context }, [check]),
    stop: () => probe.close(),
  }
}
