import { httpErrors } from '../../../http/errors/errors.ts'
import { readChoice, readTimeRange, readUuid } from '../../../http/requests/filters.ts'
import type { HttpServer } from '../../../http/server.ts'
import { timelineErrors } from './errors.ts'
import * as schemas from './schemas.ts'
import type { Timeline } from './service.ts'

const path = '/api/admin/events'
const actions = ['create', 'update', 'delete', 'truncate']

/** What was changed, and what followed from it. */
export function timelineRoutes(app: HttpServer, timeline: Timeline): void {
  app.get(
    path,
    { config: { guard: 'admin', operation: 'events.list' }, schema: schemas.listEventsSchema },
    async (request, reply) => {
      const { table, record, user_id, request_id, action, since, until, limit, cursor } = request.query
      const filter = {
        ...readTimeRange({ from: since, to: until }, ['since', 'until']),
        table,
        record,
        userId: user_id === undefined ? undefined : readUuid('user_id filter', user_id),
        requestId: request_id,
        action: action === undefined ? undefined : readChoice('action filter', action, actions),
      }
      if (cursor !== undefined && !isEventId(cursor))
        throw httpErrors.invalidListParameter('cursor', 'expected the nextCursor of a page')
      return reply.send(await timeline.list({ filter, cursor, limit: schemas.eventsLimit.read(limit) }))
    },
  )

  app.get(
    `${path}/:id`,
    { config: { guard: 'admin', operation: 'events.get' }, schema: schemas.getEventSchema },
    async (request, reply) => {
      const { id } = request.params
      if (!isEventId(id)) throw timelineErrors.eventNotFound()
      return reply.send(await timeline.get(id))
    },
  )
}

function isEventId(text: string): boolean {
  return /^\d{1,18}$/.test(text)
}
