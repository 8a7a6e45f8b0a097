import { httpErrors } from '../../../http/errors/errors.ts'
import { readChoice, readLimit, readTimeRange } from '../../../http/requests/filters.ts'
import { originOf } from '../../../http/requests/request-origin.ts'
import type { HttpServer } from '../../../http/server.ts'
import { isUuid } from '../../../lib/uuid.ts'
import type { ReplayPosition } from './enqueue.ts'
import * as schemas from './replay-schemas.ts'
import { mostReplayed, type WebhookReplays } from './replays.ts'

const path = '/api/webhooks/:id'

/** Deliveries once more: a range of them, or one to another receiver. */
export function webhookReplayRoutes(app: HttpServer, replays: WebhookReplays): void {
  app.post(
    `${path}/replays`,
    { config: { guard: 'admin', operation: 'webhooks.replayRange' }, schema: schemas.replayRangeSchema },
    async (request, reply) => {
      const { which = 'failed', since, until, cursor, limit, dryRun = false } = request.body
      const range = {
        which: readChoice('which', which, schemas.replayChoices),
        ...readTimeRange({ from: since, to: until }, ['since', 'until']),
        after: cursor === undefined ? undefined : readPosition(cursor),
        limit: readLimit(limit === undefined ? undefined : String(limit), 1000, mostReplayed),
        isDryRun: dryRun,
      }
      const { last, ...result } = await replays.replayRange(request.params.id, range, originOf(request))
      return reply.send({
        ...result,
        ...(last === undefined ? {} : { nextCursor: `${last.logId ?? ''}_${last.eventId}` }),
      })
    },
  )

  app.post(
    `${path}/deliveries/:deliveryId/try`,
    { config: { guard: 'admin', operation: 'webhooks.try' }, schema: schemas.tryDeliverySchema },
    async (request, reply) => {
      const { id, deliveryId } = request.params
      return reply.send(await replays.try(id, deliveryId, request.body, originOf(request)))
    },
  )
}

/** @throws AppError invalid_list_parameter */
function readPosition(cursor: string): ReplayPosition {
  const [, logId = '', eventId = ''] = /^(\d{0,18})_(.+)$/.exec(cursor) ?? []
  if (!isUuid(eventId)) {
    throw httpErrors.invalidListParameter('cursor', 'expected nextCursor of the request before')
  }
  return { logId: logId === '' ? null : logId, eventId }
}
