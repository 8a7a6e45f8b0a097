import type { CallerScope } from '../../../../database/caller/caller-scope.ts'
import type { Filter } from './filter.ts'

/** The tables that a stream subscribes to, each with a filter or whole. */
export type Subscriptions = ReadonlyMap<string, Filter | undefined>

/** Streams of one identity with the same subscriptions, which are sent the same. */
export interface Audience {
  readonly scope: CallerScope
  readonly subscriptions: Subscriptions
  /** Equal for subscriptions that mean the same. */
  readonly key: string
}

export function audienceOf(scope: CallerScope, subscriptions: Subscriptions): Audience {
  return { scope, subscriptions, key: subscriptionKey(subscriptions) }
}

/** Returns a key that is equal for callers between whom policies cannot distinguish. */
export function identityKey(scope: CallerScope): string {
  return scope.kind === 'unrestricted' ? '' : JSON.stringify(scope)
}

function subscriptionKey(subscriptions: Subscriptions): string {
  return JSON.stringify([...subscriptions].map(([table, filter]) => [table, filter?.key]).sort())
}
