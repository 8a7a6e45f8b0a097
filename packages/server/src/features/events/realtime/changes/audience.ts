import type { CallerScope } from '../../../../database/user-database.ts'
import type { Filter } from './filter.ts'

/** What a stream listens to: tables, each with a filter or whole. */
export type Subscriptions = ReadonlyMap<string, Filter | undefined>

/** Streams of one identity that listen to the same, and so are sent the same. */
export interface Audience {
  readonly scope: CallerScope
  readonly subscriptions: Subscriptions
}

/** The same for callers whom policies cannot tell apart. */
export function identityKey(scope: CallerScope): string {
  return scope.kind === 'unrestricted' ? '' : JSON.stringify(scope)
}

export function subscriptionKey(subscriptions: Subscriptions): string {
  return JSON.stringify([...subscriptions].map(([table, filter]) => [table, filter?.key]).sort())
}
