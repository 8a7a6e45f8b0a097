import type { SystemDatabase } from '../../../database/system-database.ts'
import { httpErrors } from '../../../http/errors/errors.ts'
import { readChoice, readTimeRange, readUuid } from '../../../http/requests/filters.ts'
import { bearerSecurity, responses } from '../../../http/schemas.ts'
import type { HttpServer } from '../../../http/server.ts'
import type { Clock } from '../../../lib/clock.ts'
import { Type } from '../../../lib/type.ts'
import { type LatencyStep, latencySteps, listLatency, stepMs } from './latency.ts'

/** More are no picture any more. */
const mostSteps = 1500

const milliseconds = Type.Union([Type.Number(), Type.Null()], {
  description: 'Exact to 5 %; null without requests.',
})

const latencySchema = {
  tags: ['operations'],
  security: bearerSecurity,
  summary: 'Report requests and their latency over time',
  description: 'From the requests that are kept (`logging.retention_days`), all nodes together.',
  querystring: Type.Object({
    step: Type.Optional(Type.String({ description: `${latencySteps.join(', ')}; minute unless given.` })),
    from: Type.Optional(Type.String({ description: 'RFC 3339 or YYYY-MM-DD; an hour ago unless given.' })),
    to: Type.Optional(Type.String({ description: 'RFC 3339 or YYYY-MM-DD; now unless given.' })),
    operation: Type.Optional(Type.String({ description: 'Such as `collections.list`.' })),
    app_id: Type.Optional(Type.String({ description: 'UUID.' })),
  }),
  response: responses({
    200: Type.Object({
      step: Type.String(),
      items: Type.Array(
        Type.Object({
          timestamp: Type.String({ description: 'Begin of the step, UTC.' }),
          requests: Type.Number(),
          errors: Type.Number({ description: 'Answers of status 500 and above.' }),
          bytes: Type.Number({ description: 'In and out, headers included.' }),
          p50_ms: milliseconds,
          p95_ms: milliseconds,
          p99_ms: milliseconds,
        }),
      ),
    }),
  }),
}

export function latencyRoutes(app: HttpServer, database: SystemDatabase, clock: Clock): void {
  app.get(
    '/api/admin/analytics/latency',
    { config: { guard: 'admin', operation: 'analytics.latency' }, schema: latencySchema },
    async (request, reply) => {
      const { query } = request
      const step = readChoice('step', query.step ?? 'minute', latencySteps)
      const span = readSpan(step, readTimeRange({ from: query.from, to: query.to }), clock.now())
      const rows = await listLatency(database, step, {
        ...span,
        operation: query.operation,
        appId: query.app_id === undefined ? undefined : readUuid('app_id filter', query.app_id),
      })
      const items = rows.map(({ at, ...figures }) => ({ timestamp: at.toISOString(), ...figures }))
      return reply.send({ step, items })
    },
  )
}

/** @throws AppError invalid_list_parameter */
function readSpan(
  step: LatencyStep,
  given: { readonly from: Date | undefined; readonly to: Date | undefined },
  now: Date,
): { readonly from: Date; readonly to: Date } {
  const to = given.to ?? now
  const from = given.from ?? new Date(to.getTime() - stepMs.hour)
  const steps = (to.getTime() - from.getTime()) / stepMs[step]
  if (steps > mostSteps)
    throw httpErrors.invalidListParameter(
      'from filter',
      `at most ${mostSteps} steps of a ${step} before \`to\``,
    )
  if (steps < 0) throw httpErrors.invalidListParameter('from filter', 'must not be in the future')
  return { from, to }
}
