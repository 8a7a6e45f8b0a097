import type { Queryable, SystemDatabase } from '../../../../database/system-database.ts'
import type { Stream } from '../stream.ts'
import { audienceOf, type Subscriptions } from './audience.ts'
import { type Batch, positionAfterBatch } from './batch.ts'
import { type LogEvent, readLog, readLogBounds } from './event.ts'
import { type Hub, render } from './hub.ts'
import { beginningOf, covers, endOf, isOtherTimeline, type Position } from './position.ts'
import type { EventSelector } from './select-events.ts'
import { deliveryTo, type SentLog } from './sent-log.ts'
import type { TableRegistry } from './table-registry.ts'

const batchSize = 500
/** Maximum number of remaining events at which the stream attaches to the others. */
const attachThreshold = 50

/**
 * Returns true if the log still has every event of the tables after the position.
 *
 * @param loggedSince first transaction from which on the log is complete for the tables
 */
export async function isRetained(
  database: Queryable,
  { timeline, passed, within }: Position,
  loggedSince: bigint,
): Promise<boolean> {
  if (within !== undefined && !covers(within.target, passed)) return false
  const bounds = await readLogBounds(database)
  const { pruned, end } = bounds
  // An event of another timeline may be missing on this one, and its transaction number may be that of another event.
  if (isOtherTimeline(timeline, bounds.timeline)) return false
  const isOfThisCluster = endOf(within?.target ?? passed) <= end
  return isOfThisCluster && endOf(passed) >= loggedSince && beginningOf(passed) > pruned
}

export interface CatchUpDeps {
  readonly database: SystemDatabase
  readonly selector: EventSelector
  readonly registry: TableRegistry
  readonly hub: Hub
  readonly sent: SentLog
  /**
   * Runs work between two steps of the follower.
   *
   * @param work receives a position at which the stream may attach to the others
   */
  readonly attach: (work: (position: Position) => void) => Promise<void>
}

/** Events that a stream receives before it attaches to the others. */
export interface CatchUpRange {
  readonly from: Position
  /** Subscriptions with which the stream is not attached yet. */
  readonly tables: Subscriptions
  /** First transaction from which on the log is complete for these tables. */
  readonly loggedSince: bigint
}

/**
 * Sends the stream the events of these tables since the position, at the pace of the client. Then attaches it to the
 * others with all its subscriptions.
 */
export async function catchUp(
  deps: CatchUpDeps,
  stream: Stream,
  subscriptions: Subscriptions,
  missed: CatchUpRange,
): Promise<void> {
  // Only a stream without other subscriptions surely misses nothing before an event.
  const isAlone = stream.subscriptions.size === 0
  let position = missed.from
  // The gap is sent once, at the end. Until then no event has an id, so that a client that disconnects does not skip
  // the gap.
  let hasGap = false
  const advance = async (from: Position) => {
    const { batch, isWhole } = await sendNext(deps, stream, { ...missed, from }, isAlone && !hasGap)
    hasGap ||= !isWhole
    position = positionAfterBatch(batch)
    return batch
  }
  for (;;) {
    const batch = await advance(position)
    await stream.transport.drained()
    if (!stream.isOpen) return
    if (batch.isComplete && batch.events.length <= attachThreshold) break
  }
  let rest: Promise<void> = Promise.resolve()
  await deps.attach(({ timeline, passed: target }) => {
    stream.subscribe(subscriptions)
    deps.hub.attach(stream)
    // The rest runs in the queue of the stream, so that other identities do not wait for it.
    rest = deps.hub.inOrder(stream, async () => {
      hasGap ||= isOtherTimeline(position.timeline, timeline)
      position = { timeline, passed: position.passed, within: { target, id: '0' } }
      while (stream.isOpen && !(await advance(position)).isComplete);
      stream.endCatchUp()
      if (hasGap) stream.gap(isAlone ? position : undefined)
    })
  })
  // The client’s next request must not overtake the rest.
  await rest
}

/** @returns the batch, and whether every event of it could be decided */
async function sendNext(
  { database, selector, registry, sent }: CatchUpDeps,
  stream: Stream,
  { from, tables, loggedSince }: CatchUpRange,
  isCertain: boolean,
): Promise<{ readonly batch: Batch<LogEvent>; readonly isWhole: boolean }> {
  const read = await readLog(database, from, [...tables.keys()], batchSize)
  const isContinued = !isOtherTimeline(from.timeline, read.timeline)
  if (read.events.length === 0) return { batch: read, isWhole: isContinued }
  const since = await registry.check([...new Set(read.events.map(({ table }) => table))])
  const events = read.events.filter((event) => !registry.isOutdated(event))
  const audience = audienceOf(stream.listener.scope, tables)
  // The state before these events is no longer readable.
  const candidates = selector.filter(await selector.prepare(events, undefined), [audience])
  const selections = await selector.select(candidates, [audience])
  const { messages = [], hasGap = false } = selections.get(audience) ?? {}
  const isWhole = isContinued && !hasGap && since <= loggedSince
  stream.send(render(stream, { ...read, events }, messages, isCertain && isWhole))
  sent.record('missed', events, [deliveryTo([stream], tables, messages)])
  return { batch: read, isWhole }
}
