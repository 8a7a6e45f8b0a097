import type { LiveCatalog } from '../../../../database/catalog/live-catalog.ts'
import type { Queryable, SystemDatabase } from '../../../../database/system-database.ts'
import type { Stream } from '../stream.ts'
import type { Subscriptions } from './audience.ts'
import { type Batch, positionBehind } from './batch.ts'
import type { DefinitionWatch } from './definitions.ts'
import { type LogEvent, readLog, readLogBounds } from './event.ts'
import { type Hub, render } from './hub.ts'
import { beginningOf, covers, endOf, type Position } from './position.ts'
import type { EventSelector } from './select-events.ts'

const batchSize = 500
/** So little is left that the stream may join the others. */
const littleLeft = 50

/**
 * Whether the log still holds every event of the tables after the position.
 *
 * @param loggedSince the first transaction from which on the tables are in the log, and look as they do now
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
  readonly live: LiveCatalog
  readonly database: SystemDatabase
  readonly selector: EventSelector
  readonly hub: Hub
  /**
   * Runs the work between two steps of the follower.
   *
   * @param work receives a position from which the stream may go on with the others
   */
  readonly join: (work: (position: Position) => Promise<void>) => Promise<void>
}

/** What a stream is to be sent before it joins the others. */
export interface Missed {
  readonly from: Position
  /** Those of the subscriptions for which it has not joined yet. */
  readonly tables: Subscriptions
  /** Has looked at the tables before it was found that the log holds what was missed. */
  readonly watch: DefinitionWatch
}

/**
 * Sends the stream what has happened in these tables since the position, at the client's own pace, and then lets it
 * join the others with everything it listens to.
 */
export async function catchUp(
  deps: CatchUpDeps,
  stream: Stream,
  subscriptions: Subscriptions,
  missed: Missed,
): Promise<void> {
  // Only of a stream that listens to nothing else is it known that nothing before an event is missing.
  const isAlone = stream.subscriptions.size === 0
  let position = missed.from
  // Sent once, at the end: until then no event has an id, so that a client that breaks off does not miss it.
  let hasGap = false
  const advance = async (from: Position) => {
    const { batch, isWhole } = await sendNext(deps, stream, { ...missed, from }, isAlone && !hasGap)
    hasGap ||= !isWhole
    position = positionBehind(batch)
    return batch
  }
  for (;;) {
    const batch = await advance(position)
    await stream.transport.drained()
    if (!stream.isOpen) return
    if (batch.isComplete && batch.events.length <= littleLeft) break
  }
  let rest: Promise<void> = Promise.resolve()
  await deps.join(async ({ passed: target }) => {
    // Newer than the place the others are at: what lies between comes once more, and is passed over.
    const sent = [...missed.tables.keys()].map((table) => [table, target] as const)
    stream.sentBefore = new Map([...stream.sentBefore, ...sent])
    stream.subscriptions = subscriptions
    deps.hub.join(stream)
    // In the stream's own time: whoever else listens does not wait for it.
    rest = deps.hub.inTurn(stream, async () => {
      position = { passed: position.passed, within: { target, id: '0' } }
      while (stream.isOpen && !(await advance(position)).isComplete);
      stream.isCatchingUp = false
      if (hasGap) stream.gap(isAlone ? position : undefined)
    })
  })
  // What the client asks for next must not overtake it.
  await rest
}

/** @returns whether all of it could be decided */
async function sendNext(
  { database, selector }: CatchUpDeps,
  stream: Stream,
  { from, tables, watch }: Missed,
  isCertain: boolean,
): Promise<{ readonly batch: Batch<LogEvent>; readonly isWhole: boolean }> {
  const batch = await readLog(database, from, [...tables.keys()], batchSize)
  if (batch.events.length === 0) return { batch, isWhole: true }
  const suspects = await watch.look([...new Set(batch.events.map(({ table }) => table))])
  const audience = { scope: stream.listener.scope, subscriptions: tables }
  const passing = selector.findPassing(batch.events, [audience])
  // The state before these events is long past.
  const chosen = await selector.select(batch.events, audience.scope, [audience], passing, suspects, undefined)
  const { messages = [], hasGap = false } = chosen.get(audience) ?? {}
  stream.send(render(stream, batch, messages, isCertain && !hasGap))
  return { batch, isWhole: !hasGap }
}
