import { createHash, timingSafeEqual } from 'node:crypto'
import type { Feature } from '../../../feature.ts'
import { httpErrors } from '../../../http/errors/errors.ts'
import { mergeMetrics } from '../../../http/observation/merge-metrics.ts'
import type { Metrics } from '../../../http/observation/metrics.ts'
import { addOperations, content, operation } from '../../../http/operation.ts'
import type { AppError } from '../../../lib/errors.ts'
import { Type } from '../../../lib/type.ts'
import type { Machine } from '../../../machine.ts'

export interface MetricsDeps {
  readonly collected: Metrics
  readonly token: string
  readonly machine: Pick<Machine, 'collectMetrics'> | undefined
}

const get = operation({
  id: 'metrics.get',
  guard: 'public',
  method: 'GET',
  path: '/metrics',
  tag: 'operations',
  summary: 'Get metrics in the Prometheus text format',
  description: 'Open to all callers. If `metrics.token` is set, callers must send it as bearer token.',
  success: content('text/plain', 'Metrics.', Type.String()),
  async handle({ collected, token, machine }: MetricsDeps, { http }, reply) {
    const refusal = token === '' ? undefined : judge(http.headers.authorization, token)
    if (refusal !== undefined) throw refusal.with({ headers: { 'www-authenticate': 'Bearer' } })
    const { contentType, text } = await collected.render()
    void reply.type(contentType).header('cache-control', 'no-store')
    return machine === undefined ? text : mergeMetrics([text, ...(await machine.collectMetrics())])
  },
})

/** Makes the feature of metrics, which require a token of their own if one is configured. */
export function metrics(deps: MetricsDeps): Feature {
  return { name: 'metrics', routes: (app) => addOperations(app, deps, [get]) }
}

function judge(authorization: string | undefined, token: string): AppError | undefined {
  if (authorization === undefined) return httpErrors.missingAuthorization()
  return isEqual(authorization, `Bearer ${token}`) ? undefined : httpErrors.invalidToken()
}

/** Compares texts in a time that does not depend on the position of a difference. */
function isEqual(one: string, other: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(one), digest(other))
}
