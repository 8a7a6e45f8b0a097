import { bearerSecurity, requiredByHandler, responses } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'
import { mostReplayed } from './replays.ts'

const tags = ['webhooks']
const security = bearerSecurity

export const replayChoices = ['failed', 'delivered', 'missed'] as const

export const replayRangeSchema = {
  tags,
  security,
  summary: 'Deliver a range of events again',
  description:
    'Queues them in their order, each record after what the queue holds of it already; an event that is in the queue is left out. The webhook must be enabled.',
  params: Type.Object({ id: Type.String() }),
  body: Type.Object({
    which: Type.Optional(
      Type.String({
        description:
          '`failed` (unless given): events of which no attempt has succeeded; `delivered`: all that were tried; `missed`: events of the log that the webhook asks for and that were never queued for it.',
      }),
    ),
    since: Type.Optional(
      Type.String({ description: 'RFC 3339, or YYYY-MM-DD: attempts, or missed events, from then on.' }),
    ),
    until: Type.Optional(Type.String({ description: 'RFC 3339, or YYYY-MM-DD, which is included.' })),
    cursor: Type.Optional(
      Type.String({ description: '`nextCursor` of the request before: continues where it ended.' }),
    ),
    limit: Type.Optional(
      Type.Integer({
        description: `At most so many, the oldest; 1000 unless given, at most ${mostReplayed}.`,
      }),
    ),
    dryRun: Type.Optional(Type.Boolean({ description: 'true: only counts them.' })),
  }),
  response: responses({
    200: Type.Object({
      queued: Type.Integer({ description: 'Events that are queued now; with `dryRun`, that would be.' }),
      hasMore: Type.Boolean({ description: 'Whether the limit was reached.' }),
      nextCursor: Type.Optional(
        Type.String({ description: 'With `hasMore`: where the next request continues.' }),
      ),
    }),
  }),
}

export const tryDeliverySchema = {
  tags,
  security,
  summary: 'Send a delivery to another address',
  description: 'One attempt with the same body and `webhook-id`, for a test; not in the log of deliveries.',
  params: Type.Object({ id: Type.String(), deliveryId: Type.String() }),
  body: Type.Object({
    url: requiredByHandler(
      Type.String({ description: 'An absolute http or https URL without credentials.' }),
    ),
    secret: Type.Optional(
      Type.String({ description: 'Signs this attempt. The secret of the webhook is not used.' }),
    ),
  }),
  response: responses({
    200: Type.Object({
      success: Type.Boolean(),
      statusCode: Type.Optional(Type.Integer()),
      durationMs: Type.Integer(),
      error: Type.Optional(Type.String()),
      responseBody: Type.Optional(Type.String({ description: 'Its first 64 KiB.' })),
    }),
  }),
}
