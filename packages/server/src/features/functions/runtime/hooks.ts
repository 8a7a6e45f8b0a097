import type { Step } from '../../../database/caller/caller-steps.ts'
import type { Relation } from '../../../database/catalog/model.ts'
import { StatementFailed } from '../../../database/connection/message.ts'
import { undoableSteps } from '../../../database/undoable-steps.ts'
import type { UserTransaction } from '../../../database/user-database.ts'
import type {
  Caller,
  ChangeOutcome,
  HookSet,
  HookTransaction,
  RecordChange,
  TableHooks,
  WriteHooks,
} from '../../data/collections/index.ts'
import { errorOf } from './calls.ts'
import { runtimeErrors } from './errors.ts'
import type { BeforeDescription, FunctionDescription, HookOutcome } from './messages.ts'
import {
  CallTransaction,
  type CallWork,
  nestedWork,
  Statements,
  sourceOf,
  type TransactionDeps,
} from './transaction.ts'

/** Maximum depth of writes that hooks make and that pass hooks themselves. */
export const hookDepthLimit = 8
/** Maximum number of changes in one frame, and of their characters. A single change may be longer. */
const chunkLimits = { changes: 1000, size: 2 * 1024 * 1024 }

type Action = BeforeDescription['operations'][number]

interface FoundHooks extends TableHooks {
  readonly functions: readonly BeforeDescription[]
}

/** Hooks of one load by table, in the order of their files and names. */
export class HookTable {
  readonly #hooks: readonly BeforeDescription[]
  readonly #found = new Map<string, FoundHooks | undefined>()

  constructor(functions: readonly FunctionDescription[]) {
    this.#hooks = functions.filter((each) => each.kind === 'before')
  }

  get isEmpty(): boolean {
    return this.#hooks.length === 0
  }

  get hooks(): readonly BeforeDescription[] {
    return this.#hooks
  }

  find({ collection }: Pick<Relation, 'collection'>, actions: readonly Action[]): FoundHooks | undefined {
    const key = `${actions.join()} ${collection}`
    if (!this.#found.has(key)) {
      const functions = this.#hooks.filter(
        ({ table, operations }) =>
          table === collection && operations.some((operation) => actions.includes(operation)),
      )
      this.#found.set(
        key,
        functions.length === 0
          ? undefined
          : { functions, requiresPrevious: functions.some(({ previous }) => previous) },
      )
    }
    return this.#found.get(key)
  }
}

/** Terms of the call of a hook. */
export interface HookCall {
  readonly caller: Caller
  readonly work: CallWork
  /** Hooks that the writes of the hook pass. */
  readonly hooks: WriteHooks
  readonly changes: readonly RecordChange[]
  readonly isCollecting: boolean
  /** Moment of `performance.now` at which the hooks of the write must have ended. */
  readonly deadline: number
  /** False if the hook may not run statements of its own text. */
  readonly isTextAllowed: boolean | undefined
}

export interface HookDeps extends TransactionDeps {
  readonly table: HookTable
  /** Maximum time that all hooks of one write take. */
  readonly limitMs: number
  /** Maximum wait of a write for a connection. */
  readonly waitMs: number
  /** Calls a hook. @throws AppError */
  call(hook: BeforeDescription, terms: HookCall): Promise<readonly HookOutcome[]>
  /** Keeps the code of the hooks loaded until the returned function is called. */
  hold(): () => void
}

/** Statements of a transaction that is open, and its end. */
interface OuterTransaction {
  readonly statements: Statements
  readonly onCommit: CallWork['onCommit']
  readonly deadline: number
  /** False if hooks may not run statements of their own text. */
  readonly isTextAllowed?: boolean | undefined
}

/** Creates the hooks that writes of a client pass. */
export function createHookSet(deps: HookDeps): HookSet {
  const { table, database, waitMs } = deps
  const set: HookSet = {
    find: (relation, actions) => table.find(relation, actions),
    async transaction(caller, work) {
      const release = deps.hold()
      const transaction = new CallTransaction(deps, caller, { name: 'before', waitMs })
      const { statements } = transaction
      try {
        const onCommit = (listener: () => void) => transaction.onCommit(listener)
        const deadline = performance.now() + deps.limitMs
        const hooked = openHooks(deps, caller, { statements, onCommit, deadline }, 0)
        const result = await work({
          ...hooked,
          runWhole: (scope, steps, options) =>
            transaction.isOpen ? statements.run(steps) : database.run(scope, steps, options),
        })
        await transaction.commit()
        return result
      } catch (error) {
        const { failure } = transaction
        transaction.rollback()
        // A statement that waits reports only that its call has ended.
        throw failure?.kind === 'no_connection' ? failure : error
      } finally {
        release()
      }
    },
    async within(caller, transaction, work) {
      const release = deps.hold()
      try {
        const { source, requireOpen } = openSource(transaction)
        const statements = new Statements(source, caller)
        const result = await work(
          openHooks(deps, caller, { statements, onCommit: () => {}, deadline: Number.POSITIVE_INFINITY }, 0),
        )
        requireOpen()
        return result
      } finally {
        release()
      }
    },
  }
  return set
}

/** Creates the hooks that writes in the transaction of a function pass. @param depth number of hooks around them */
export function createNestedHooks(deps: HookDeps, outer: OuterTransaction, depth: number): WriteHooks {
  const { table } = deps
  if (table.isEmpty) return { current: () => undefined }
  const set: HookSet = {
    find: (relation, actions) => table.find(relation, actions),
    transaction: (caller, work) =>
      outer.statements.nest((statements) => {
        return work(openHooks(deps, caller, { ...outer, statements }, depth))
      }),
    within: () => Promise.reject(new Error('a function makes no import')),
  }
  return { current: () => set }
}

function openHooks(deps: HookDeps, caller: Caller, outer: OuterTransaction, depth: number): HookTransaction {
  const { statements, onCommit } = outer
  const run = (steps: readonly Step[]) => statements.run(steps)
  // Each call of the function adds listeners to the connection.
  const signal = caller.signal?.()
  const watched: Caller = signal === undefined ? caller : { ...caller, signal: () => signal }
  return {
    run,
    runWhole: (_scope, steps) => run(steps),
    onCommit,
    async call(relation, changes, isCollecting) {
      if (depth >= hookDepthLimit) throw runtimeErrors.hookDepthExceeded(hookDepthLimit)
      const actions = new Set(changes.flatMap(({ operation }) => actionsOf(operation)))
      const { functions = [] } = deps.table.find(relation, [...actions]) ?? {}
      const outcomes: ChangeOutcome[] = []
      for (const chunk of divide(changes)) {
        outcomes.push(
          ...(await callTogether(deps, { caller: watched, outer, depth, functions, chunk, isCollecting })),
        )
        if (!isCollecting && outcomes.some(({ refusal }) => refusal !== undefined)) break
      }
      return outcomes
    },
  }
}

function actionsOf(operation: RecordChange['operation']): readonly Action[] {
  return operation === 'upsert' ? ['create', 'update'] : [operation]
}

function* divide(changes: readonly RecordChange[]): Generator<readonly RecordChange[]> {
  let chunk: RecordChange[] = []
  let size = 0
  for (const change of changes) {
    const length = (change.values?.length ?? 0) + (change.previous?.length ?? 0)
    if (chunk.length > 0 && (chunk.length === chunkLimits.changes || size + length > chunkLimits.size)) {
      yield chunk
      chunk = []
      size = 0
    }
    chunk.push(change)
    size += length
  }
  if (chunk.length > 0) yield chunk
}

interface ChunkCall {
  readonly caller: Caller
  readonly outer: OuterTransaction
  readonly depth: number
  readonly functions: readonly BeforeDescription[]
  readonly chunk: readonly RecordChange[]
  readonly isCollecting: boolean
}

/** Thrown to undo the statements of hooks for a change that they then refused. */
class Refused extends Error {}

/**
 * Calls the hooks with changes that travel together. If hooks have written before one of them refused a change, everything is
 * undone, and the hooks are called again with the other changes.
 */
async function callTogether(deps: HookDeps, call: ChunkCall): Promise<readonly ChangeOutcome[]> {
  const { outer, chunk, isCollecting } = call
  const refusals = new Map<number, ChangeOutcome>()
  for (;;) {
    const known = refusals.size
    try {
      return await outer.statements.nest(async (statements) => {
        const outcomes = await callOneByOne(deps, call, statements, refusals)
        if (isCollecting && refusals.size > known && statements.isUsed) throw new Refused()
        return chunk.map((_, position) => refusals.get(position) ?? outcomes[position] ?? {})
      })
    } catch (error) {
      if (!(error instanceof Refused)) throw error
    }
  }
}

async function callOneByOne(
  deps: HookDeps,
  { caller, outer, depth, functions, chunk, isCollecting }: ChunkCall,
  statements: Statements,
  refusals: Map<number, ChangeOutcome>,
): Promise<readonly ChangeOutcome[]> {
  const outcomes: ChangeOutcome[] = chunk.map(() => ({}))
  const { onCommit, deadline, isTextAllowed } = outer
  for (const hook of functions) {
    const positions = chunk.flatMap(({ operation }, position) =>
      !refusals.has(position) && actionsOf(operation).some((action) => hook.operations.includes(action))
        ? [position]
        : [],
    )
    if (positions.length === 0) continue
    const changes = positions.map((position) => {
      const { previous, ...change } = { ...chunk[position], ...outcomes[position] } as RecordChange
      return hook.previous && previous !== undefined ? { ...change, previous } : change
    })
    const results = await deps.call(hook, {
      caller,
      work: nestedWork(statements, onCommit),
      hooks: createNestedHooks(deps, { ...outer, statements }, depth + 1),
      changes,
      isCollecting,
      deadline,
      isTextAllowed,
    })
    for (const [index, { values, refusal }] of results.entries()) {
      const position = positions[index] ?? 0
      if (refusal !== undefined) {
        refusals.set(position, { refusal: errorOf(refusal, hook.name) })
        if (!isCollecting) return outcomes
      } else if (values !== undefined) outcomes[position] = { values }
    }
  }
  return outcomes
}

/** Returns the transaction of an import as one that continues after a failed step. */
function openSource({ run }: Pick<UserTransaction, 'run'>) {
  return sourceOf(
    undoableSteps({
      async send(calls, steps) {
        try {
          return (await run([...calls, ...steps])).slice(calls.length)
        } catch (error) {
          if (!(error instanceof StatementFailed)) throw error
          throw new StatementFailed(error.error, Math.max(0, error.index - calls.length))
        }
      },
    }),
  )
}
