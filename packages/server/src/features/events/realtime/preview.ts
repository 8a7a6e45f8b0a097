import type { CallerScope } from '../../../database/caller/caller-scope.ts'
import type { SystemDatabase } from '../../../database/system-database.ts'
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
  /** `admin`, `anonymous` or the id of a user. */
  readonly as: string
  readonly tables: string
  readonly filter?: string | undefined
  readonly from: Date | undefined
  readonly cursor: string | undefined
  readonly limit: number
  readonly viewer: Viewer
}

export interface PreviewDeps {
  readonly database: SystemDatabase
  readonly planner: SubscriptionPlanner
  readonly selector: EventSelector
  readonly viewAs: ViewAs
}

/** What a subscriber would have been sent of the log, by the policies and the rows of other tables as they are now. */
export function createPreview({ database, planner, selector, viewAs }: PreviewDeps) {
  async function findScope(as: string): Promise<CallerScope> {
    if (as === 'admin') return { kind: 'unrestricted' }
    if (as === 'anonymous') return { kind: 'anonymous' }
    const scope = isUuid(as) ? await viewAs.findScope(as) : undefined
    if (scope === undefined) throw realtimeErrors.subscriberNotFound()
    return scope
  }

  /** @throws AppError subscriber_not_found and those of a stream */
  return async ({ as, tables, filter, from, cursor, limit, viewer }: PreviewRequest) => {
    const names = parseTables(tables)
    if (names.length === 0) throw realtimeErrors.tablesRequired()
    const scope = await findScope(as)
    const conditions = filter === undefined || filter === '' ? undefined : parseFilter(filter)
    const subscriptions = await planner.plan(scope, names, conditions)
    if (scope.kind === 'caller') await viewAs.record({ userId: scope.userId, tables: names, viewer })
    const start = from === undefined ? undefined : await findIdAt(database, from, 'before')
    const after = cursor ?? (start === undefined ? '0' : String(BigInt(start) - 1n))
    const { events, next } = await readPast(database, { after, tables: names, from, limit })
    const audience = audienceOf(scope, subscriptions)
    const candidates = selector.filter(await selector.prepare(events, undefined), [audience])
    const selection = (await selector.select(candidates, [audience])).get(audience)
    return {
      items: (selection?.messages ?? []).flatMap(({ index, body }) => {
        const event = events[index]
        return event === undefined
          ? []
          : [{ id: event.id, happenedAt: event.happenedAt.toISOString(), data: body }]
      }),
      decided: events.length,
      hasGap: selection?.hasGap ?? false,
      ...(next === undefined ? {} : { nextCursor: next }),
    }
  }
}
