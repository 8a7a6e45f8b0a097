import { get, segment } from '../../api/request.ts'
import type { JobState } from '../jobs/api.ts'

export const filterNames = ['table', 'record', 'user_id', 'request_id', 'action', 'since', 'until'] as const
export type EventFilter = Readonly<Partial<Record<(typeof filterNames)[number], string | undefined>>>

/** Of `GET /api/admin/events`: one change of one record. */
export interface Event {
  readonly id: string
  readonly happenedAt: string | null
  readonly action: string
  readonly table: string
  readonly record: string | null
  readonly previousRecord: string | null
  readonly actor: string | null
  readonly userId: string | null
  readonly apiKeyId: string | null
  readonly requestId: string | null
}

export interface ListedEvent extends Event {
  readonly deliveries: { readonly delivered: number; readonly failed: number; readonly pending: number }
}

export interface EventList {
  readonly items: ListedEvent[]
  readonly nextCursor?: string
  /** How far back was looked, when that ended the page. */
  readonly searchedTo: string | null
  readonly keptSince: string | null
}

export interface Attempt {
  readonly id: string
  readonly attempt: number
  readonly success: boolean
  readonly statusCode: number | null
  readonly durationMs: number
  readonly error: string | null
  readonly responseBody: string | null
  readonly deliveredAt: string
}

export interface EventWebhook {
  readonly webhookId: string
  readonly url: string
  readonly eventId: string
  readonly state: 'pending' | 'delivered' | 'failed'
  readonly attempts: readonly Attempt[]
  readonly next: {
    readonly dueAt: string
    readonly attempts: number
    readonly isInFlight: boolean
    readonly waitsForEarlier: boolean
    readonly isWebhookEnabled: boolean
  } | null
}

/** What streams of a node were sent. */
export interface SentByNode {
  readonly node: string
  readonly sent: number
  readonly withheld: number
  /** The first of them. */
  readonly receivers: readonly {
    readonly connection: string
    readonly transport: string
    readonly caller: 'user' | 'anonymous' | 'admin' | 'open'
    readonly userId: string | null
  }[]
}

/** By the transaction of the event. */
export interface AddedJob {
  readonly id: string
  readonly type: string
  readonly state: JobState
  readonly attempts: number
  readonly maxAttempts: number
  readonly lastError: string | null
}

/** Of `GET /api/admin/events/{id}`. */
export interface EventDetail extends Event {
  readonly isInLog: boolean
  readonly transactionId: string | null
  readonly payload: string
  readonly consumers: readonly { readonly name: string; readonly hasTaken: boolean }[]
  readonly webhooks: readonly EventWebhook[]
  readonly streams: {
    readonly isLogged: boolean
    readonly record: 'complete' | 'pending' | 'incomplete'
    readonly sent: readonly SentByNode[]
    readonly nodes: readonly {
      readonly node: string
      readonly connections: number
      readonly connectedBefore: number
    }[]
  }
  readonly jobs: readonly AddedJob[]
  readonly embeddings: readonly {
    readonly name: string
    readonly state: string
    readonly error: string | null
  }[]
}

export const listEvents = (filter: EventFilter, cursor: string | undefined, signal: AbortSignal) =>
  get<EventList>('admin/events', { ...filter, cursor }, { signal })

export const getEvent = (id: string, signal: AbortSignal) =>
  get<EventDetail>(`admin/events/${segment(id)}`, {}, { signal })
