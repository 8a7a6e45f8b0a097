import type { SystemDatabase } from '../../../database/system-database.ts'
import { findIdAt } from '../outbox/index.ts'
import { payloadOfLog } from '../webhooks/index.ts'
import * as destinations from './destinations.ts'
import { timelineErrors } from './errors.ts'
import * as queries from './queries.ts'

/** Characters of a receiver's answer that the timeline shows; the delivery has 64 KiB of it. */
const replyLimit = 2000

export interface EventPage {
  readonly filter: queries.EventFilter
  /** Of the page before. */
  readonly cursor: string | undefined
  readonly limit: number
}

/** Changes of the log and what followed from them. */
export function createTimeline(database: SystemDatabase, sentHours: number) {
  return {
    async list({ filter, cursor, limit }: EventPage) {
      const { from, to } = filter
      const before = cursor ?? (to === undefined ? undefined : await findIdAt(database, to, 'after'))
      const [rows, end, keptSince] = await Promise.all([
        queries.listEvents(database, filter, before, limit + 1),
        queries.indexedKeysOf(filter) === undefined ? queries.findScanEnd(database, before, from) : undefined,
        queries.findKeptSince(database),
      ])
      const page = rows.slice(0, limit)
      // A page may be short, or empty, although the log continues: so many rows were looked at.
      const next = rows.length > limit ? page.at(-1)?.id : end?.id
      return {
        items: page.map((row) => {
          const { delivered, failed, pending } = row
          return { ...showEvent(row), deliveries: { delivered, failed, pending } }
        }),
        ...(next === undefined ? {} : { nextCursor: next }),
        searchedTo: rows.length > limit || end === undefined ? null : end.happened_at.toISOString(),
        keptSince: keptSince?.toISOString() ?? null,
      }
    },

    /** @throws AppError event_not_found */
    async get(id: string) {
      const [event, attempts, pending] = await Promise.all([
        queries.findEvent(database, id, payloadOfLog('o')),
        destinations.listAttempts(database, id, replyLimit),
        destinations.listPending(database, id),
      ])
      const webhooks = showWebhooks(attempts, pending)
      if (event !== undefined) return { ...(await describe(event)), webhooks }
      const [first] = attempts
      // Deliveries are kept for longer than the log: they hold what was sent.
      if (first === undefined) throw timelineErrors.eventNotFound()
      return { ...showDelivered(id, first), webhooks }
    },
  }

  async function describe(event: queries.EventDetailRow) {
    const { table_name: table, record_key: key, transaction_id: transaction } = event
    const [nodes, sent, jobs, isLogged, embeddings, consumers] = await Promise.all([
      destinations.listStreams(database, table, event.happened_at),
      destinations.listSent(database, event.id),
      destinations.listAddedJobs(database, event.id),
      destinations.isLoggedForStreams(database, table, transaction),
      key === null ? [] : destinations.listEmbeddingStates(database, table, key),
      destinations.listConsumers(database, transaction),
    ])
    return {
      ...showEvent(event),
      isInLog: true,
      transactionId: transaction,
      payload: event.payload,
      consumers: consumers.map(({ consumer, has_taken }) => ({ name: consumer, hasTaken: has_taken })),
      streams: {
        isLogged,
        record: judgeRecord(event.age, sent, sentHours),
        sent: sent.flatMap(showSent),
        nodes: nodes.map(({ node, connections, connected_before }) => ({
          node,
          connections,
          connectedBefore: connected_before,
        })),
      },
      jobs: jobs.map(showJob),
      embeddings: embeddings.map(({ name, state, error }) => ({ name, state, error })),
    }
  }
}

export type Timeline = ReturnType<typeof createTimeline>

function showEvent(row: Omit<queries.EventRow, 'delivered' | 'failed' | 'pending'>) {
  return {
    id: row.id,
    happenedAt: row.happened_at.toISOString(),
    action: row.action,
    table: row.table_name,
    record: row.record,
    previousRecord: row.old_record,
    actor: row.actor,
    userId: row.user_id,
    apiKeyId: row.api_key_id,
    requestId: row.request_id,
  }
}

/** What deliveries know of an event that is no longer in the log. */
function showDelivered(id: string, delivery: destinations.AttemptRow) {
  return {
    id,
    happenedAt: null,
    action: delivery.event_action,
    table: delivery.event_table,
    record: null,
    previousRecord: null,
    actor: null,
    userId: null,
    apiKeyId: null,
    requestId: null,
    isInLog: false,
    transactionId: null,
    payload: delivery.request_body,
    consumers: [],
    streams: { isLogged: false, record: 'incomplete', sent: [], nodes: [] },
    jobs: [],
    embeddings: [],
  }
}

/** Nodes write what they have sent once a second. */
const recordSeconds = 3

/** Whether all that streams were sent of it is in the record. */
function judgeRecord(age: number, sent: readonly destinations.SentRow[], hours: number) {
  const isMissing = sent.some((row) => row.sent === null && row.dropped > 0)
  if (isMissing || sent.length >= destinations.mostAttempts || age > hours * 3600) return 'incomplete'
  return age < recordSeconds ? 'pending' : 'complete'
}

function showSent({ node, recorded_at, sent, withheld, receivers }: destinations.SentRow) {
  if (sent === null || withheld === null) return []
  return {
    node,
    recordedAt: recorded_at.toISOString(),
    sent,
    withheld,
    receivers: receivers.map(([connection, transport, caller, userId]) => ({
      connection,
      transport,
      caller,
      userId,
    })),
  }
}

function showJob(row: destinations.AddedJobRow) {
  return {
    id: row.id,
    type: row.type,
    state: row.state,
    attempts: row.attempts,
    maxAttempts: row.max_attempts,
    lastError: row.last_error,
    runAt: row.run_at.toISOString(),
    finishedAt: row.finished_at?.toISOString() ?? null,
  }
}

function showWebhooks(
  attempts: readonly destinations.AttemptRow[],
  pending: readonly destinations.PendingRow[],
) {
  const ids = new Set([...attempts, ...pending].map(({ webhook_id }) => webhook_id))
  return [...ids].map((id) => {
    const made = attempts.filter(({ webhook_id }) => webhook_id === id)
    const next = pending.find(({ webhook_id }) => webhook_id === id)
    const [any] = [...made, ...(next === undefined ? [] : [next])]
    const settled = made.some(({ success }) => success) ? ('delivered' as const) : ('failed' as const)
    return {
      webhookId: id,
      url: any?.url ?? '',
      eventId: any?.event_id ?? '',
      state: next === undefined ? settled : ('pending' as const),
      attempts: made.map(showAttempt),
      next:
        next === undefined
          ? null
          : {
              dueAt: next.due_at.toISOString(),
              attempts: next.attempts,
              isInFlight: next.is_in_flight,
              waitsForEarlier: next.is_waiting,
              isWebhookEnabled: next.enabled,
            },
    }
  })
}

function showAttempt(row: destinations.AttemptRow) {
  return {
    id: row.id,
    attempt: row.attempt,
    success: row.success,
    statusCode: row.status_code,
    durationMs: row.duration_ms,
    error: row.error,
    responseBody: row.response_body,
    deliveredAt: row.delivered_at.toISOString(),
  }
}
