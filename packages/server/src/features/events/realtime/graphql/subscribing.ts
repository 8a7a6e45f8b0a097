import type { RequestedSubscription } from '../../../data/graphql/index.ts'
import type { ChangeFeed } from '../changes/change-feed.ts'
import { requireConditionLimits } from '../changes/parse-filter.ts'
import { parsePosition } from '../changes/position.ts'
import type { SubscriptionPlanner } from '../changes/subscriptions.ts'
import type { Stream } from '../stream.ts'

export interface SubscribingDeps {
  readonly planner: SubscriptionPlanner
  readonly feed: ChangeFeed
}

/** Start of a subscription, once it is in force. */
export interface Start {
  /** Position to resume from. */
  readonly id: string | undefined
  /** True if the client resumes, and changes may be missing. */
  readonly hasGap: boolean
}

/**
 * Plans what a stream subscribes to.
 *
 * @returns function that subscribes the stream and resolves after the missed changes
 * @throws AppError insufficient_scope, unknown_table, rls_required, invalid_stream_filter
 */
export async function planStream(
  { planner, feed }: SubscribingDeps,
  stream: Stream,
  { plan, lastEventId }: RequestedSubscription,
): Promise<(begin: (start: Start) => void) => Promise<void>> {
  const { collection, conditions } = plan
  requireConditionLimits(conditions)
  const filter = conditions.length === 0 ? undefined : conditions
  const subscriptions = await planner.plan(stream.listener.scope, [collection], filter)
  const isResuming = lastEventId !== undefined
  return (begin) =>
    feed.subscribe(stream, subscriptions, isResuming ? parsePosition(lastEventId) : undefined, {
      isResuming,
      // Other clients cannot have missed anything: no message before this one says that the subscription is in force.
      begin: (id, hasGap) => begin({ id, hasGap: hasGap && isResuming }),
    })
}
