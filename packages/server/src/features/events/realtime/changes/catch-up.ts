import type { Queryable, SystemDatabase } from '../../../../database/system-database.ts'
import type { Stream } from '../stream.ts'
import { audienceOf, type Subscriptions } from './audience.ts'
import { type Batch, positionAfterBatch } from './batch.ts'
import { type LogEvent, readLog, readLogBounds } from './event.ts'
import { type Hub, render } from './hub.ts'
import type { ListenedTables } from './listened-tables.ts'
import { beginningOf, covers, endOf, type Position } from './position.ts'
import type { EventSelector } from './select-events.ts'
import { type SentLog, sentTo } from './sent-log.ts'

const batchSize = 500
/** With no more than this left the stream may join the others. */
const littleLeft = 50

/**
 * Returns whether the log still holds every event of the tables after the position.
 *
 * @param loggedSince the first transaction from which on the log is complete for the tables
 */
export async function isHeld(
  database: Queryable,
  { passed, within }: Position,
  loggedSince: bigint,
): Promise<boolean> {
  if (within !== undefined && !covers(within.target, passed)) return false
  const { pruned, end } = await readLogBounds(database)
  const isOfThisCluster = endOf(within?.target ?? passed) <= end
  return isOfThisCluster && endOf(passed) >= loggedSince && beginningOf(passed) > pruned
}

export interface CatchUpDeps {
  readonly database: SystemDatabase
  readonly selector: EventSelector
  readonly listened: ListenedTables
  readonly hub: Hub
  readonly sent: SentLog
  /**
   * Runs the work between two steps of the follower.
   *
   * @param work receives a position from which the stream may continue with the others
   */
  readonly join: (work: (position: Position) => void) => Promise<void>
}

/** Events that a stream is to be sent before it joins the others. */
export interface Missed {
  readonly from: Position
  /** Subscriptions for which it has not joined yet. */
  readonly tables: Subscriptions
  /** The first transaction from which on the log is complete for them. */
  readonly loggedSince: bigint
}

/**
 * Sends the stream the events of these tables since the position, at the client's own pace, and then lets it join the
 * others with all its subscriptions.
 */
export async function catchUp(
  deps: CatchUpDeps,
  stream: Stream,
  subscriptions: Subscriptions,
  missed: Missed,
): Promise<void> {
  // Only of a stream without other subscriptions is it known that nothing before an event is missing.
  const isAlone = stream.subscriptions.size === 0
  let position = missed.from
  // Sent once, at the end: until then no event has an id, so that a client that disconnects does not miss it.
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
    if (batch.isComplete && batch.events.length <= littleLeft) break
  }
  let rest: Promise<void> = Promise.resolve()
  await deps.join(({ passed: target }) => {
    stream.subscribe(subscriptions)
    deps.hub.join(stream)
    // In the queue of the stream: other identities do not wait for it.
    rest = deps.hub.inOrder(stream, async () => {
      position = { passed: position.passed, within: { target, id: '0' } }
      while (stream.isOpen && !(await advance(position)).isComplete);
      stream.endCatchUp()
      if (hasGap) stream.gap(isAlone ? position : undefined)
    })
  })
  // What the client asks for next must not overtake it.
  await rest
}

/** @returns whether all of it could be decided */
async function sendNext(
  { database, selector, listened, sent }: CatchUpDeps,
  stream: Stream,
  { from, tables, loggedSince }: Missed,
  isCertain: boolean,
): Promise<{ readonly batch: Batch<LogEvent>; readonly isWhole: boolean }> {
  const read = await readLog(database, from, [...tables.keys()], batchSize)
  if (read.events.length === 0) return { batch: read, isWhole: true }
  const since = await listened.look([...new Set(read.events.map(({ table }) => table))])
  const events = read.events.filter((event) => !listened.isOutdated(event))
  const audience = audienceOf(stream.listener.scope, tables)
  // The state before these events can no longer be read.
  const candidates = selector.filter(await selector.prepare(events, undefined), [audience])
  const selections = await selector.select(candidates, [audience])
  const { messages = [], hasGap = false } = selections.get(audience) ?? {}
  const isWhole = !hasGap && since <= loggedSince
  stream.send(render(stream, { ...read, events }, messages, isCertain && isWhole))
  sent.record('missed', events, [sentTo([stream], tables, messages)])
  return { batch: read, isWhole }
}
