import type { Queryable, SystemDatabase } from '../../database/system-database.ts'
import type { Subscriptions } from './audience.ts'
import { type Batch, type LogEvent, positionBehind, readLog, readLogBounds } from './event.ts'
import type { Follower } from './follower.ts'
import { type Hub, render } from './hub.ts'
import { beginningOf, endOf, type Position } from './position.ts'
import type { EventSelector } from './select-events.ts'
import type { Stream } from './stream.ts'

const batchSize = 500
/** So little is left that the others may wait for it. */
const littleLeft = 50

/**
 * Whether the log still holds every event of the tables after the position.
 *
 * @param loggedSince the first transaction from which on the tables are in the log
 */
export async function isHeld(
  database: Queryable,
  { passed, within }: Position,
  loggedSince: bigint,
): Promise<boolean> {
  const { pruned, end } = await readLogBounds(database)
  const isOfThisCluster = endOf(within?.target ?? passed) <= end
  return isOfThisCluster && endOf(passed) >= loggedSince && beginningOf(passed) > pruned
}

export interface CatchUpDeps {
  readonly database: SystemDatabase
  readonly selector: EventSelector
  readonly follower: Follower<LogEvent>
  readonly hub: Hub
}

/**
 * Sends the stream what has happened in these tables since the position, at the client's own pace, and then lets it
 * join the others with everything it listens to.
 *
 * @param missed those of the subscriptions for which the stream has not joined yet
 */
export async function catchUp(
  deps: CatchUpDeps,
  stream: Stream,
  from: Position,
  subscriptions: Subscriptions,
  missed: Subscriptions,
): Promise<void> {
  let position = from
  for (;;) {
    const batch = await sendNext(deps, stream, position, missed)
    position = positionBehind(batch)
    await stream.transport.drained()
    if (!stream.isOpen) return
    if (batch.isComplete && batch.events.length <= littleLeft) break
  }
  await deps.follower.between(async () => {
    let batch: Batch
    do {
      batch = await sendNext(deps, stream, position, missed)
      position = positionBehind(batch)
    } while (!batch.isComplete && stream.isOpen)
    // Newer than the place the others are at: what lies between comes once more, and is passed over.
    const sent = [...missed.keys()].map((table) => [table, position.passed] as const)
    stream.sentBefore = new Map([...stream.sentBefore, ...sent])
    stream.isCatchingUp = false
    stream.subscriptions = subscriptions
    deps.hub.join(stream)
  })
}

async function sendNext(
  { database, selector }: CatchUpDeps,
  stream: Stream,
  position: Position,
  subscriptions: Subscriptions,
): Promise<Batch> {
  const tables = [...subscriptions.keys()]
  const batch = await readLog(database, position, tables, batchSize)
  if (batch.events.length === 0) return batch
  const audience = { scope: stream.listener.scope, subscriptions }
  const passing = await selector.findPassing(batch.events, [audience])
  const chosen = await selector.select(batch.events, audience.scope, [audience], passing)
  stream.send(render(stream, batch, chosen.get(audience) ?? []))
  return batch
}
