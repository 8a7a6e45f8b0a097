import { messageOf } from '../../lib/errors.ts'
import { Lru } from '../../lib/lru.ts'
import type { CallerScope } from '../caller/caller-scope.ts'
import type { Step } from '../caller/caller-steps.ts'
import type { SessionCode } from '../catalog/session-code.ts'
import type { Connection } from '../connection/connection.ts'
import { type Answer, StatementFailed } from '../connection/message.ts'
import { ConnectionLost, PoolExhausted } from '../errors/failures.ts'
import { conflictCodes } from '../errors/retry.ts'
import type { ReadRouter, RunOptions } from '../user-database.ts'
import type { Guards } from './guards.ts'
import { type LogPosition, laterOf } from './log-position.ts'
import { PositionHistory } from './position-history.ts'
import type { ReadConsistency } from './read-consistency.ts'
import { type Replica, ReplicaUnfit } from './replica.ts'
import type { PrimaryState } from './replica-probe.ts'

/** Reasons to run a read on the primary although a replica may serve it. */
export const fallbackReasons = [
  /** No replica is in the rotation. */
  'unavailable',
  /** No replica has replayed the position in time, or the last change of the schema. */
  'position',
  /** The data of the replica was older than the maximum lag. */
  'lag',
  /** Replay removed rows that the read needed (PostgreSQL, Hot Standby, Handling Query Conflicts). */
  'conflict',
  /** The connection broke, or the server was promoted. */
  'connection',
  /** All connections to the replica were in use. */
  'busy',
  /** The read calls a function that writes, or reads an unlogged table. */
  'unsupported',
  /** The read failed for another reason; the primary decides. */
  'error',
] as const
export type FallbackReason = (typeof fallbackReasons)[number]

export interface ReadReplicasOptions {
  readonly replicas: readonly Replica[]
  readonly guards: Guards
  readonly readPrimary: () => Promise<PrimaryState>
  /** Longest time that a read waits for a replica to replay its position. */
  readonly waitMs: number
  /** Maximum age of the data that a replica may serve. */
  readonly maxLagMs: number
}

/** State of a replica, for reports and metrics. */
export interface ReplicaStatus {
  readonly address: string
  /** Undefined while it serves reads. */
  readonly refusal: string | undefined
  /** Seconds since its data was complete; Infinity if unknown. */
  readonly lagSeconds: number
  /** Number of reads that it has served. */
  readonly reads: number
}

/** Export on a replica. */
export interface ReplicaConnection {
  readonly connection: Connection
  /**
   * Begins the caller's transaction. @returns the statements that commit it
   *
   * @throws ReplicaUnfit if the server of the transaction has not the required position
   */
  begin(timeoutMs: number): Promise<string>
  /** Cancels its statement; never rejects. */
  cancel(): Promise<void>
}

const longestIntervalMs = 500
/** Checks within the maximum lag, so that a replica without any lag never seems to exceed it. */
const checksPerLag = 4
/** Number of statements that are known to fail on every replica. */
const unsupportedLimit = 1000

/** SQLSTATEs of statements that no standby runs: writes, unlogged tables, functions forbidden during recovery. */
const unsupportedCodes = new Set(['25006', '0A000', '55000'])
const timeoutCode = '57014'

/**
 * Read replicas in rotation. A read goes to one if its consistency allows it. A failure on a replica is never the
 * result: the primary runs the read again and decides. Only a statement timeout counts, as it would there.
 *
 * One check per interval reads the position of the primary and then the state of each replica. Each read also returns
 * the position of the server that ran it. A replica with a new lag, or another server at the same address, is thus
 * noticed by the read itself.
 */
export class ReadReplicas implements ReadRouter {
  readonly #options: ReadReplicasOptions
  readonly #history: PositionHistory
  readonly #unsupported = new Lru<string, true>(unsupportedLimit)
  readonly #reads = new Map<Replica, number>()
  readonly #fallbacks = new Map<FallbackReason, number>(fallbackReasons.map((reason) => [reason, 0]))
  #primaryReads = 0
  /** Position with the last change of the schema, which each replica must have replayed; undefined while unknown. */
  #schemaPosition: LogPosition | undefined
  #schemaGeneration = 0
  #timer: NodeJS.Timeout | undefined
  #checking: Promise<void> | undefined
  #next = 0
  #isClosed = false

  constructor(options: ReadReplicasOptions) {
    this.#options = options
    this.#history = new PositionHistory(options.maxLagMs)
    for (const replica of options.replicas) this.#reads.set(replica, 0)
  }

  /** Number of reads that the primary served although a replica may serve them, by reason. */
  get fallbacks(): ReadonlyMap<FallbackReason, number> {
    return this.#fallbacks
  }

  /** Number of reads that the primary served, whether a replica may have served them or not. */
  get primaryReads(): number {
    return this.#primaryReads
  }

  list(): readonly ReplicaStatus[] {
    const now = performance.now()
    return this.#options.replicas.map((replica) => ({
      address: replica.address,
      refusal: replica.refusal,
      lagSeconds: this.#history.ageOf(replica.replayed, now) / 1000,
      reads: this.#reads.get(replica) ?? 0,
    }))
  }

  /** Begins to check the replicas. Resolves after the first check, and never rejects. */
  async start(): Promise<void> {
    await this.#check()
    this.#schedule()
  }

  /** Judges statements by this code from now on, and requires every replica to have replayed the schema as it is now. */
  trust(code: SessionCode): void {
    this.#options.guards.trust(code)
    this.#schemaPosition = undefined
    this.#schemaGeneration += 1
    this.#unsupported.deleteWhere(() => true)
    if (this.#timer !== undefined) void this.#check()
  }

  /** Adds a listener that is called when a replica enters or leaves the rotation. */
  onChange(listener: (replica: Pick<ReplicaStatus, 'address' | 'refusal'>) => void): void {
    for (const replica of this.#options.replicas) replica.onChange(() => listener(replica))
  }

  async run(
    scope: CallerScope,
    steps: readonly Step[],
    options: RunOptions & Required<Pick<RunOptions, 'consistency'>>,
    runOnPrimary: () => Promise<readonly Answer[]>,
  ): Promise<readonly Answer[]> {
    const consistency = options.consistency?.()
    if (consistency?.admitsReplicas === true) {
      const answers = await this.#tryReplica(scope, steps, options, consistency)
      if (answers !== undefined) return answers
    }
    this.#primaryReads += 1
    return await runOnPrimary()
  }

  /**
   * Opens a connection to a replica for a read that outlasts a request. Returns undefined where the consistency does not
   * request one, or none is fit.
   */
  async openFor(scope: CallerScope, consistency: ReadConsistency): Promise<ReplicaConnection | undefined> {
    if (consistency.isEventual !== true) return undefined
    const found = await this.#choose(consistency)
    if (found === undefined) return undefined
    const { replica, required } = found
    const suspend = (error: unknown) => {
      if (!(error instanceof ConnectionLost)) throw error
      replica.suspend('its connection broke')
      this.#fallBack('connection')
    }
    const connection = await replica.openFor(scope).catch(suspend)
    if (connection === undefined) return undefined
    return {
      connection,
      begin: async (timeoutMs) => {
        const begun = await replica.begin(connection, scope, timeoutMs).catch(suspend)
        if (begun === undefined || !this.#isFit(replica, begun.replayed, required)) {
          throw new ReplicaUnfit('it has no current data')
        }
        this.#count(replica)
        return begun.ending
      },
      cancel: () => replica.cancel(connection),
    }
  }

  disconnect(): void {
    this.#stop()
    for (const replica of this.#options.replicas) replica.disconnect()
  }

  async close(): Promise<void> {
    this.#stop()
    await Promise.all(this.#options.replicas.map((replica) => replica.close()))
  }

  /** Returns undefined where the primary has to run the read. */
  async #tryReplica(
    scope: CallerScope,
    steps: readonly Step[],
    options: RunOptions,
    consistency: ReadConsistency,
  ): Promise<readonly Answer[] | undefined> {
    const shape = shapeOf(scope, steps)
    if (this.#unsupported.get(shape) === true) return this.#fallBack('unsupported')
    const found = await this.#choose(consistency)
    if (found === undefined) return undefined
    const { replica, required } = found
    try {
      const { answers, replayed } = await replica.read(scope, steps, options)
      if (!this.#isFit(replica, replayed, required)) return undefined
      this.#count(replica)
      return answers
    } catch (error) {
      const reason = reasonOf(error)
      if (reason === undefined || options.isAbandoned?.() === true) throw error
      if (reason === 'unsupported') this.#unsupported.set(shape, true)
      if (error instanceof ConnectionLost) replica.suspend('its connection broke')
      return this.#fallBack(reason)
    }
  }

  /** Chooses a replica with the required position; counts a fallback where there is none. */
  async #choose({
    position = 0n,
  }: ReadConsistency): Promise<{ readonly replica: Replica; readonly required: LogPosition } | undefined> {
    const { replicas, waitMs } = this.#options
    const usable = replicas.filter(({ refusal }) => refusal === undefined)
    if (usable.length === 0) return this.#fallBack('unavailable')
    if (this.#schemaPosition === undefined) return this.#fallBack('position')
    const required = laterOf(position, this.#schemaPosition)
    this.#next = (this.#next + 1) % usable.length
    const inTurn = [...usable.slice(this.#next), ...usable.slice(0, this.#next)]
    const current = inTurn.find(({ replayed }) => replayed >= required)
    if (current !== undefined) return { replica: current, required }
    const [first] = inTurn
    if (first !== undefined && waitMs > 0 && (await first.reaches(required, waitMs))) {
      return { replica: first, required }
    }
    return this.#fallBack('position')
  }

  /** Returns whether the server that ran a read was fit for it; counts a fallback otherwise. */
  #isFit(replica: Replica, replayed: LogPosition | undefined, required: LogPosition): boolean {
    if (replayed === undefined) {
      replica.suspend('it is not a standby any more')
      this.#fallBack('connection')
      return false
    }
    if (replayed < required) {
      this.#fallBack('position')
      return false
    }
    if (this.#history.ageOf(replayed, performance.now()) > this.#options.maxLagMs) {
      this.#fallBack('lag')
      return false
    }
    return true
  }

  #count(replica: Replica): void {
    this.#reads.set(replica, (this.#reads.get(replica) ?? 0) + 1)
  }

  #fallBack(reason: FallbackReason): undefined {
    this.#fallbacks.set(reason, (this.#fallbacks.get(reason) ?? 0) + 1)
  }

  #schedule(): void {
    if (this.#isClosed) return
    const intervalMs = Math.min(longestIntervalMs, this.#options.maxLagMs / checksPerLag)
    this.#timer = setTimeout(async () => {
      await this.#check()
      this.#schedule()
    }, intervalMs).unref()
  }

  #stop(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
  }

  /** Checks all servers. */
  async #check(): Promise<void> {
    // A check that has begun before the schema changed does not know the position of the change.
    while (this.#checking !== undefined) await this.#checking
    if (this.#isClosed) return
    this.#checking = this.#checkAll().finally(() => {
      this.#checking = undefined
    })
    await this.#checking
  }

  async #checkAll(): Promise<void> {
    const { replicas, readPrimary, maxLagMs } = this.#options
    const generation = this.#schemaGeneration
    const before = replicas.map(({ replayed }) => replayed)
    const at = performance.now()
    let primary: PrimaryState
    try {
      primary = await readPrimary()
    } catch (error) {
      // Without the primary, the age of the data is unknown. It exceeds the limit soon.
      for (const replica of replicas) this.#suspendUnlessCurrent(replica, error)
      return
    }
    this.#history.add(primary.flushed, at)
    if (generation === this.#schemaGeneration) this.#schemaPosition ??= primary.inserted
    await Promise.all(
      replicas.map((replica, index) =>
        replica.check(primary, (replayed) => {
          // It had replayed more than the primary has written since.
          if ((before[index] ?? 0n) > primary.flushed)
            return 'it is ahead of the primary: it follows another one'
          const ageMs = this.#history.ageOf(replayed, performance.now())
          return ageMs > maxLagMs ? describeLag(maxLagMs) : undefined
        }),
      ),
    )
  }

  #suspendUnlessCurrent(replica: Replica, error: unknown): void {
    const ageMs = this.#history.ageOf(replica.replayed, performance.now())
    if (replica.refusal === undefined && ageMs <= this.#options.maxLagMs) return
    replica.suspend(`the state of the primary is unknown: ${messageOf(error)}`)
  }
}

function describeLag(maxLagMs: number): string {
  return `its data is older than database.replica_max_lag_ms (${maxLagMs})`
}

/** Returns what the same statements of another caller of this kind share. */
function shapeOf({ kind }: CallerScope, steps: readonly Step[]): string {
  return `${kind} ${steps.map(({ statement }) => statement.name || statement.text).join(' ')}`
}

/** Returns the reason to run a failed read on the primary; undefined where it would not help. */
function reasonOf(error: unknown): FallbackReason | undefined {
  if (error instanceof ConnectionLost) return 'connection'
  if (error instanceof PoolExhausted) return 'busy'
  if (!(error instanceof StatementFailed)) return undefined
  const { code = '' } = error.error
  if (code === timeoutCode) return undefined
  if (conflictCodes.has(code)) return 'conflict'
  if (unsupportedCodes.has(code)) return 'unsupported'
  return code.startsWith('57P') ? 'connection' : 'error'
}
