import type { CallerScope } from '../../../database/caller/caller-scope.ts'
import type { SystemDatabase } from '../../../database/system-database.ts'
import { type Answered, component, timestamp } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'
import { isUuid } from '../../../lib/uuid.ts'
import type { ViewAs, Viewer } from '../../data/view-as/index.ts'
import { findIdAt } from '../outbox/index.ts'
import { audienceOf } from './changes/audience.ts'
import { readPast } from './changes/event.ts'
import { parseFilter } from './changes/parse-filter.ts'
import type { EventSelector } from './changes/select-events.ts'
import { parseTables, type SubscriptionPlanner } from './changes/subscriptions.ts'
import { realtimeErrors } from './errors.ts'

export interface PreviewRequest {
  /** Subscriber: `admin`, `anonymous` or the id of a user. */
  readonly as: string
  readonly tables: string
  readonly filter?: string | undefined
  readonly from: Date | undefined
  readonly cursor: string | undefined
  readonly limit: number
  /** Reason to view events as a user. */
  readonly reason: string | undefined
  readonly viewer: Viewer
}

export interface PreviewDeps {
  readonly database: SystemDatabase
  readonly planner: SubscriptionPlanner
  readonly selector: EventSelector
  readonly viewAs: ViewAs
}

export const RealtimePreview = component(
  'RealtimePreview',
  Type.Object({
    items: Type.Array(
      Type.Object({
        id: Type.String({ description: 'Id of the event.' }),
        happenedAt: timestamp,
        data: Type.String({ description: 'JSON body that a stream receives.' }),
      }),
    ),
    decided: Type.Integer({ description: 'Number of changes of the tables that were decided.' }),
    hasGap: Type.Boolean({ description: 'True if some changes could not be decided.' }),
    nextCursor: Type.Optional(Type.String()),
  }),
)

/**
 * Returns the events of the log that a subscriber would have received, by the current policies and rows of other
 * tables.
 *
 * @throws AppError subscriber_not_found and those of a stream
 */
export async function preview(
  { database, planner, selector, viewAs }: PreviewDeps,
  { as, tables, filter, from, cursor, limit, reason, viewer }: PreviewRequest,
): Promise<Answered<typeof RealtimePreview>> {
  const names = parseTables(tables)
  if (names.length === 0) throw realtimeErrors.tablesRequired()
  const scope = await findScope(viewAs, as)
  const conditions = filter === undefined || filter === '' ? undefined : parseFilter(filter)
  const subscriptions = await planner.plan(scope, names, conditions)
  if (scope.kind === 'caller') await viewAs.record({ userId: scope.userId, tables: names, reason, viewer })
  const start = from === undefined ? undefined : await findIdAt(database, from, 'before')
  const after = cursor ?? (start === undefined ? '0' : String(BigInt(start) - 1n))
  const { events, next } = await readPast(database, { after, tables: names, from, limit })
  const audience = audienceOf(scope, subscriptions)
  const candidates = selector.filter(await selector.prepare(events, undefined), [audience])
  const { messages = [], hasGap = false } =
    (await selector.select(candidates, [audience])).get(audience) ?? {}
  const items = messages.flatMap(({ index, body: data }) => {
    const event = events[index]
    return event === undefined ? [] : [{ id: event.id, happenedAt: event.happenedAt, data }]
  })
  return { items, decided: events.length, hasGap, nextCursor: next }
}

async function findScope(viewAs: ViewAs, as: string): Promise<CallerScope> {
  if (as === 'admin') return { kind: 'unrestricted' }
  if (as === 'anonymous') return { kind: 'anonymous' }
  const scope = isUuid(as) ? await viewAs.findScope(as) : undefined
  if (scope === undefined) throw realtimeErrors.subscriberNotFound()
  return scope
}
