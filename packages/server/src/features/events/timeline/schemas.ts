import { limitParameter } from '../../../http/requests/filters.ts'
import { bearerSecurity, responses } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'

const tags = ['events']
const security = bearerSecurity
const text = (description: string) => Type.Optional(Type.String({ description }))
const nullable = (description?: string) =>
  Type.Union([Type.String(), Type.Null()], description === undefined ? {} : { description })
const instant = text('RFC 3339, or YYYY-MM-DD, of which the last day is included.')

const event = {
  id: Type.String({ description: 'Its place in the log; grows.' }),
  happenedAt: nullable('When its transaction began.'),
  action: Type.String({ description: 'create, update, delete or truncate.' }),
  table: Type.String(),
  record: nullable('Key of the record; values of a composite one are joined by commas.'),
  previousRecord: nullable('Key of the record before an update that changed it.'),
  actor: nullable('user, admin, anonymous, open or sql.'),
  userId: nullable(),
  apiKeyId: nullable(),
  requestId: nullable('The `X-Request-Id` of the response.'),
}

export const eventsLimit = limitParameter(50, 500)

export const listEventsSchema = {
  tags,
  security,
  summary: 'List changes of the log',
  description:
    'Newest first. The log holds changes that had a listener, for `events.retention_hours`. An index serves `record`, best together with `table`. For other filters a page reads 50,000 changes at most, so one that is short, or empty, can have a `nextCursor`.',
  querystring: Type.Object({
    table: text('A collection.'),
    record: text('Key of a record; values of a composite one are joined by commas.'),
    user_id: text('UUID.'),
    request_id: text('The `X-Request-Id` of a response.'),
    action: text('create, update, delete or truncate.'),
    since: instant,
    until: instant,
    limit: eventsLimit.schema,
    cursor: text('`nextCursor` of the page before.'),
  }),
  response: responses({
    200: Type.Object({
      items: Type.Array(
        Type.Object({
          ...event,
          deliveries: Type.Object(
            { delivered: Type.Integer(), failed: Type.Integer(), pending: Type.Integer() },
            { description: 'Webhooks, by what became of the event.' },
          ),
        }),
      ),
      nextCursor: text('There may be more.'),
      searchedTo: nullable('How far back the log was read, when that ended the page.'),
      keptSince: nullable('Of the oldest change that the log holds.'),
    }),
  }),
}

export const getEventSchema = {
  tags,
  security,
  summary: 'Get a change and what followed from it',
  description:
    'Attempts of webhooks are kept for `webhooks.retention_days`, longer than the log: what is no longer in it is shown as it was sent.',
  params: Type.Object({ id: Type.String() }),
  response: responses({
    200: Type.Object({
      ...event,
      isInLog: Type.Boolean(),
      transactionId: nullable(),
      payload: Type.String({ description: 'JSON as receivers are sent it.' }),
      consumers: Type.Array(Type.Object({ name: Type.String(), hasTaken: Type.Boolean() }), {
        description: 'Who reads the log, and whether they have read it up to this change.',
      }),
      webhooks: Type.Array(
        Type.Object({
          webhookId: Type.String(),
          url: Type.String(),
          eventId: Type.String({ description: 'The header `webhook-id`.' }),
          state: Type.Enum(['pending', 'delivered', 'failed']),
          attempts: Type.Array(
            Type.Object({
              id: Type.String({ description: 'Of the delivery.' }),
              attempt: Type.Integer(),
              success: Type.Boolean(),
              statusCode: Type.Union([Type.Integer(), Type.Null()]),
              durationMs: Type.Integer(),
              error: nullable(),
              responseBody: nullable('Its first 2,000 characters.'),
              deliveredAt: Type.String(),
            }),
          ),
          next: Type.Union([
            Type.Object({
              dueAt: Type.String(),
              attempts: Type.Integer({ description: 'That have ended.' }),
              isInFlight: Type.Boolean(),
              waitsForEarlier: Type.Boolean({ description: 'For an earlier event of the same record.' }),
              isWebhookEnabled: Type.Boolean(),
            }),
            Type.Null(),
          ]),
        }),
      ),
      streams: Type.Object(
        {
          isLogged: Type.Boolean({
            description: 'Whether every stream that listened to the table was sure to be sent the change.',
          }),
          record: Type.String({
            description:
              'complete: `sent` is all there was. pending: nodes write it within a second or two. incomplete: a node had more to record than it does, or it is older than `realtime.sent_retention_hours`.',
          }),
          sent: Type.Array(
            Type.Object({
              node: Type.String(),
              recordedAt: Type.String(),
              sent: Type.Integer({ description: 'Streams that were sent it.' }),
              withheld: Type.Integer({
                description: 'Streams of the table that were not, by their policies or filters.',
              }),
              receivers: Type.Array(
                Type.Object({
                  connection: Type.String({ description: 'The `clientId` of the stream.' }),
                  transport: Type.String({ description: 'sse or ws.' }),
                  caller: Type.Enum(['user', 'anonymous', 'admin', 'open']),
                  userId: nullable(),
                }),
                { description: 'The first ten of the node.' },
              ),
            }),
          ),
          nodes: Type.Array(
            Type.Object({
              node: Type.String(),
              connections: Type.Integer({ description: 'That subscribe to the table now.' }),
              connectedBefore: Type.Integer({ description: 'Of those, open when it happened.' }),
            }),
          ),
        },
        { description: 'By node. A node that is killed takes the record of its last second with it.' },
      ),
      jobs: Type.Array(
        Type.Object({
          id: Type.String(),
          type: Type.String(),
          state: Type.Enum(['queued', 'running', 'completed', 'failed', 'canceled']),
          attempts: Type.Integer(),
          maxAttempts: Type.Integer(),
          lastError: nullable(),
          runAt: Type.String(),
          finishedAt: nullable(),
        }),
        { description: 'That the same transaction has added.' },
      ),
      embeddings: Type.Array(
        Type.Object({
          name: Type.String(),
          state: Type.String({ description: 'pending, failed or done, as it stands now.' }),
          error: nullable(),
        }),
        { description: 'Vectors that follow the text of the record.' },
      ),
    }),
  }),
}
