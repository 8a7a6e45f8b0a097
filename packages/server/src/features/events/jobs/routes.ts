import { originOf } from '../../../http/requests/request-origin.ts'
import type { HttpServer } from '../../../http/server.ts'
import type { JobAdministration } from './administration.ts'
import { jobErrors } from './errors.ts'
import * as schemas from './schemas.ts'

const path = '/api/admin/jobs'
const defaultLimit = 50
const longestLimit = 500

/** Administration of jobs. */
export function jobRoutes(app: HttpServer, jobs: JobAdministration, isEnabled: boolean): void {
  void app.register(async (scope: HttpServer) => {
    refuseWhileDisabled(scope, isEnabled)

    scope.get(
      path,
      { config: { guard: 'admin', operation: 'jobs.list' }, schema: schemas.listJobsSchema },
      async (request, reply) => {
        const { limit, offset, ...filter } = request.query
        const items = await jobs.list({ ...filter, limit: parseLimit(limit), offset: parseOffset(offset) })
        return reply.send({ items, count: items.length })
      },
    )

    scope.get(
      `${path}/stats`,
      { config: { guard: 'admin', operation: 'jobs.count' }, schema: schemas.jobStatsSchema },
      async (_request, reply) => reply.send(await jobs.count()),
    )

    scope.get(
      `${path}/:id`,
      { config: { guard: 'admin', operation: 'jobs.get' }, schema: schemas.getJobSchema },
      async (request, reply) => reply.send(await jobs.get(request.params.id)),
    )

    scope.post(
      path,
      { config: { guard: 'admin', operation: 'jobs.enqueue' }, schema: schemas.enqueueJobSchema },
      async (request, reply) => reply.code(201).send(await jobs.enqueue(request.body, originOf(request))),
    )

    scope.post(
      `${path}/:id/retry`,
      { config: { guard: 'admin', operation: 'jobs.retry' }, schema: schemas.retryJobSchema },
      async (request, reply) => reply.send(await jobs.retry(request.params.id, originOf(request))),
    )

    scope.post(
      `${path}/:id/cancel`,
      { config: { guard: 'admin', operation: 'jobs.cancel' }, schema: schemas.cancelJobSchema },
      async (request, reply) => reply.send(await jobs.cancel(request.params.id, originOf(request))),
    )
  })
}

/** After the guard and before anything is read: every route of the scope answers 503 while jobs are disabled. */
export function refuseWhileDisabled(scope: HttpServer, isEnabled: boolean): void {
  scope.addHook('preParsing', async () => {
    if (!isEnabled) throw jobErrors.jobsDisabled()
  })
}

function parseLimit(text = String(defaultLimit)): number {
  if (!/^[0-9]{1,15}$/.test(text) || Number(text) === 0) throw jobErrors.invalidJobLimit()
  return Math.min(Number(text), longestLimit)
}

function parseOffset(text = '0'): number {
  if (!/^[0-9]{1,15}$/.test(text)) throw jobErrors.invalidJobOffset()
  return Number(text)
}
