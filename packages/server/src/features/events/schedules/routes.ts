import { originOf } from '../../../http/requests/request-origin.ts'
import type { HttpServer } from '../../../http/server.ts'
import { refuseWhileDisabled } from '../jobs/index.ts'
import * as schemas from './schemas.ts'
import type { CreateSchedule, ScheduleService } from './service.ts'

const path = '/api/admin/schedules'

/** Administration of schedules. */
export function scheduleRoutes(app: HttpServer, schedules: ScheduleService, isEnabled: boolean): void {
  void app.register(async (scope: HttpServer) => {
    refuseWhileDisabled(scope, isEnabled)

    scope.get(
      path,
      { config: { guard: 'admin', operation: 'schedules.list' }, schema: schemas.listSchedulesSchema },
      async (_request, reply) => {
        const items = await schedules.list()
        return reply.send({ items, count: items.length })
      },
    )

    scope.post(
      path,
      { config: { guard: 'admin', operation: 'schedules.create' }, schema: schemas.createScheduleSchema },
      async (request, reply) =>
        reply.code(201).send(await schedules.create(pickParts(request.body), originOf(request))),
    )

    scope.put(
      `${path}/:id`,
      { config: { guard: 'admin', operation: 'schedules.update' }, schema: schemas.changeScheduleSchema },
      async (request, reply) =>
        reply.send(await schedules.change(request.params.id, pickParts(request.body), originOf(request))),
    )

    scope.delete(
      `${path}/:id`,
      { config: { guard: 'admin', operation: 'schedules.delete' }, schema: schemas.deleteScheduleSchema },
      async (request, reply) => {
        await schedules.delete(request.params.id, originOf(request))
        return reply.code(204).send()
      },
    )

    scope.post(
      `${path}/:id/enable`,
      { config: { guard: 'admin', operation: 'schedules.enable' }, schema: schemas.enableScheduleSchema },
      async (request, reply) =>
        reply.send(await schedules.setEnabled(request.params.id, true, originOf(request))),
    )

    scope.post(
      `${path}/:id/disable`,
      { config: { guard: 'admin', operation: 'schedules.disable' }, schema: schemas.disableScheduleSchema },
      async (request, reply) =>
        reply.send(await schedules.setEnabled(request.params.id, false, originOf(request))),
    )
  })
}

/** Members that a schedule does not have are ignored. */
function pickParts(body: CreateSchedule): CreateSchedule {
  const { name, jobType, cronExpr, timezone, payload, enabled, maxAttempts } = body
  return { name, jobType, cronExpr, timezone, payload, enabled, maxAttempts }
}
