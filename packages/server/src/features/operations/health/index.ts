import type { Connection } from '../../../database/connection/connection.ts'
import type { Feature } from '../../../feature.ts'
import { addOperations, ok, operation } from '../../../http/operation.ts'
import { choice, component } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'
import { DatabaseProbe } from './probe.ts'

const Health = component(
  'Health',
  Type.Object({ status: choice(['ok', 'degraded', 'stopping']), database: choice(['ok', 'unreachable']) }),
)

interface HealthContext {
  readonly probe: DatabaseProbe
  readonly isStopping: () => boolean
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
  async handle({ probe, isStopping }: HealthContext, _request, reply) {
    void reply.header('cache-control', 'no-store')
    const status = isStopping() ? 'stopping' : (await probe.isReachable()) ? 'ok' : 'degraded'
    if (status !== 'ok') void reply.code(503)
    if (status === 'degraded') void reply.header('retry-after', '1')
    return { status, database: status === 'degraded' ? 'unreachable' : 'ok' } as const
  },
})

export interface HealthDeps {
  /** Opens a connection outside the pools. */
  readonly open: () => Promise<Connection>
  readonly isStopping: () => boolean
}

/** Makes the feature of the health check for load balancers. */
export function health({ open, isStopping }: HealthDeps): Feature {
  const probe = new DatabaseProbe(open)
  return {
    name: 'health',
    routes: (app) => addOperations(app, { probe, isStopping }, [check]),
    stop: () => probe.close(),
  }
}
