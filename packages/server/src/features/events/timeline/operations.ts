import type { SystemDatabase } from '../../../database/system-database.ts'
import { adminOf } from '../../../http/access/authentication.ts'
import { requirePermission } from '../../../http/access/grants.ts'
import { holds } from '../../../http/access/permissions.ts'
import { httpErrors } from '../../../http/errors/errors.ts'
import { ok, operation } from '../../../http/operation.ts'
import {
  choiceParameter,
  instantParameter,
  limitParameter,
  readTimeRange,
  uuidParameter,
} from '../../../http/requests/filters.ts'
import { nullable, refusedWith, timestamp } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'
import { findIdAt } from '../outbox/index.ts'
import {
  isLoggedForStreams,
  listAddedJobs,
  listAttempts,
  listConsumers,
  listEmbeddingStates,
  listPending,
  listSent,
  listStreams,
  mostAttempts,
} from './destinations.ts'
import { timelineErrors } from './errors.ts'
import { EventDetail, findEvent, findKeptSince, ListedEvent, searchEvents } from './event.ts'

export interface TimelineDeps {
  readonly database: SystemDatabase
  /** Hours for which the streams of an event are recorded. */
  readonly sentHours: number
}

const common = { guard: 'admin', permission: 'operations.read', tag: 'events' } as const
const collection = '/api/admin/events'
const eventId = Type.String({ pattern: '^\\d{1,18}$' })
const listLimit = limitParameter(50, 500)

const list = operation({
  ...common,
  id: 'events.list',
  method: 'GET',
  path: collection,
  summary: 'List changes of the log',
  description:
    'Returns the newest changes first. The log holds changes that had a listener, for `events.retention_hours`. An index serves `record`, best together with `table`. For other filters a page reads at most 50,000 changes, so a short or empty page can have a `nextCursor`. The role `viewer` gets no keys of records, and cannot filter by them.',
  query: Type.Object({
    table: Type.Optional(Type.String({ description: 'Name of a collection.' })),
    record: Type.Optional(
      Type.String({ description: 'Key of a record; the values of a composite key are joined by commas.' }),
    ),
    user_id: uuidParameter('user_id'),
    request_id: Type.Optional(Type.String({ description: 'Value of `X-Request-Id` in a response.' })),
    action: choiceParameter('action filter', ['create', 'update', 'delete', 'truncate']),
    since: instantParameter,
    until: instantParameter,
    limit: listLimit.schema,
    cursor: Type.Optional(
      refusedWith(
        { invalid: () => httpErrors.invalidListParameter('cursor', 'expected the nextCursor of a page') },
        eventId,
      ),
    ),
  }),
  success: ok(
    Type.Object({
      items: Type.Array(ListedEvent),
      nextCursor: Type.Optional(
        Type.String({ description: 'Cursor of the next page, if there may be more changes.' }),
      ),
      searchedTo: nullable(timestamp, {
        description: 'Time back to which the log was read, if this limit ended the page.',
      }),
      keptSince: nullable(timestamp, { description: 'Time of the oldest change in the log.' }),
    }),
  ),
  async handle({ database }: TimelineDeps, { query, http }) {
    const { role } = adminOf(http)
    // A viewer could find out whether a record exists.
    if (query.record !== undefined) requirePermission({ role }, 'bodies.read')
    const { user_id: userId, request_id: requestId, since, until, limit, cursor, ...others } = query
    const range = readTimeRange({ from: since, to: until }, ['since', 'until'])
    const { to } = range
    const before = cursor ?? (to === undefined ? undefined : await findIdAt(database, to, 'after'))
    const size = listLimit.read(limit)
    const [{ rows, end }, keptSince] = await Promise.all([
      searchEvents(database, { ...others, userId, requestId, ...range }, before, size + 1),
      findKeptSince(database),
    ])
    const found = rows.slice(0, size)
    const items = holds(role, 'bodies.read') ? found : found.map(withoutKeys)
    const next = rows.length > size ? found.at(-1) : end
    return { items, nextCursor: next?.id, searchedTo: end?.happenedAt ?? null, keptSince }
  },
})

const get = operation({
  ...common,
  id: 'events.get',
  method: 'GET',
  path: `${collection}/:id`,
  summary: 'Get a change and its effects',
  description:
    'Webhook attempts are retained for `webhooks.retention_days`, longer than the log. A change that the log no longer holds is returned as it was delivered. The role `viewer` gets no contents: no payload, keys, addresses of webhooks, responses, errors and streams.',
  params: Type.Object({ id: refusedWith({ invalid: timelineErrors.eventNotFound }, eventId) }),
  success: ok(EventDetail),
  async handle(deps: TimelineDeps, { params: { id }, http }) {
    const detail = await getDetail(deps, id)
    return holds(adminOf(http).role, 'bodies.read') ? detail : withoutContents(detail)
  },
})

async function getDetail(deps: TimelineDeps, id: string): Promise<EventDetail> {
  const { database } = deps
  const [found, attempts, pending] = await Promise.all([
    findEvent(database, id),
    listAttempts(database, id),
    listPending(database, id),
  ])
  const webhooks = groupByWebhook(attempts, pending)
  if (found !== undefined) return { ...(await describe(deps, found)), webhooks }
  const [first] = attempts
  // Deliveries are retained longer than the log and hold the content that was sent.
  if (first === undefined) throw timelineErrors.eventNotFound()
  const { action, table, payload } = first
  return { ...unknown, id, action, table, payload, webhooks }
}

/** Removes the keys of records, which may be personal. */
const withoutKeys = <Event extends Pick<EventDetail, 'record' | 'previousRecord'>>(event: Event): Event => ({
  ...event,
  record: null,
  previousRecord: null,
})

/** Removes what a change and its receivers contain. */
function withoutContents(detail: EventDetail): EventDetail {
  return {
    ...withoutKeys(detail),
    payload: '',
    webhooks: detail.webhooks.map(({ attempts, ...webhook }) => ({
      ...webhook,
      url: '',
      attempts: attempts.map((attempt) => ({ ...attempt, error: null, responseBody: null })),
    })),
    streams: {
      ...detail.streams,
      sent: detail.streams.sent.map((record) => ({ ...record, receivers: [] })),
    },
    jobs: detail.jobs.map((job) => ({ ...job, lastError: null })),
    embeddings: detail.embeddings.map((embedding) => ({ ...embedding, error: null })),
  }
}

/** Operations that list changes of the log and their effects. */
export const timelineOperations = [list, get]

type Detail = Omit<EventDetail, 'webhooks'>

/** Event members that only the log has. */
const unknown = {
  happenedAt: null,
  record: null,
  previousRecord: null,
  actor: null,
  userId: null,
  apiKeyId: null,
  requestId: null,
  isInLog: false,
  transactionId: null,
  consumers: [],
  streams: { isLogged: false, record: 'incomplete', sent: [], nodes: [] },
  jobs: [],
  embeddings: [],
} as const

async function describe(
  { database, sentHours }: TimelineDeps,
  { event, recordKey, age }: NonNullable<Awaited<ReturnType<typeof findEvent>>>,
): Promise<Detail> {
  const { id, table, transactionId, happenedAt } = event
  const [nodes, sent, jobs, isLogged, embeddings, consumers] = await Promise.all([
    listStreams(database, table, happenedAt),
    listSent(database, id),
    listAddedJobs(database, id),
    isLoggedForStreams(database, table, transactionId),
    recordKey === null ? [] : listEmbeddingStates(database, table, recordKey),
    listConsumers(database, transactionId),
  ])
  const record = judgeRecord(age, sent, sentHours)
  const records = sent.flatMap(({ dropped: _, sent, ...row }) => (sent === null ? [] : [{ ...row, sent }]))
  return {
    ...event,
    isInLog: true,
    consumers,
    streams: { isLogged, record, sent: records, nodes },
    jobs,
    embeddings,
  }
}

/** Seconds after which the record is complete. Nodes write what they have sent once a second. */
const recordSeconds = 3

/** Returns whether the record lists all streams that received the event. */
function judgeRecord(
  age: number,
  sent: Awaited<ReturnType<typeof listSent>>,
  hours: number,
): Detail['streams']['record'] {
  const isMissing = sent.some((row) => row.sent === null && row.dropped > 0)
  if (isMissing || sent.length >= mostAttempts || age > hours * 3600) return 'incomplete'
  return age < recordSeconds ? 'pending' : 'complete'
}

function groupByWebhook(
  attempts: Awaited<ReturnType<typeof listAttempts>>,
  pending: Awaited<ReturnType<typeof listPending>>,
): EventDetail['webhooks'] {
  const destinations = new Map([...attempts, ...pending].map((each) => [each.webhookId, each]))
  return [...destinations].map(([webhookId, { url, eventId }]) => {
    const made = attempts.filter((each) => each.webhookId === webhookId).map(({ attempt }) => attempt)
    const next = pending.find((each) => each.webhookId === webhookId)?.next ?? null
    const settled = made.some(({ success }) => success) ? 'delivered' : 'failed'
    return { webhookId, url, eventId, state: next === null ? settled : 'pending', attempts: made, next }
  })
}
