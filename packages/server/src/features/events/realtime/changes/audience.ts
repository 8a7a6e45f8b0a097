import type { CallerScope } from '../../../../database/caller/caller-scope.ts'
import type { Filter } from './filter.ts'

/** Tables that a stream subscribes to, each with or without a filter. */
export type Subscriptions = ReadonlyMap<string, Filter | undefined>

/** Streams of one identity with the same subscriptions. All of them receive the same messages. */
export interface Audience {
  readonly scope: CallerScope
  readonly subscriptions: Subscriptions
  /** Key that is equal for equivalent subscriptions. */
  readonly key: string
}

export function audienceOf(scope: CallerScope, subscriptions: Subscriptions): Audience {
  return { scope, subscriptions, key: subscriptionKey(subscriptions) }
}

/** Returns a key, equal for callers whom policies cannot distinguish. */
export function identityKey(scope: CallerScope): string {
  return scope.kind === 'unrestricted' ? '' : JSON.stringify(scope)
}

function subscriptionKey(subscriptions: Subscriptions): string {
  return JSON.stringify([...subscriptions].map(([table, filter]) => [table, filter?.key]).sort())
}
