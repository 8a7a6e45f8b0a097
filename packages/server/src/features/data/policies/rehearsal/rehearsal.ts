import { arrayLiteral } from '../../../../database/array-literal.ts'
import type { CallerScope } from '../../../../database/caller/caller-scope.ts'
import { ServerStepFailed, type Step } from '../../../../database/caller/caller-steps.ts'
import type { Connection } from '../../../../database/connection/connection.ts'
import {
  type Answer,
  type Call,
  StatementFailed,
  statement,
} from '../../../../database/connection/message.ts'
import { ConnectionLost } from '../../../../database/errors/failures.ts'
import type { Database } from '../../../../database/open.ts'
import { render, type Sql } from '../../../../database/sql.ts'
import type { UserTransaction } from '../../../../database/user-database.ts'

/**
 * Transaction of the caller, and one without policies. Neither is ever committed. Each attempt is undone by itself,
 * so that a failure does not affect the next one. All attempts see the same state of the database.
 */
export interface Rehearsal {
  /**
   * Runs the steps as the caller unless they say otherwise, checks deferred constraints, and undoes the steps.
   *
   * @throws StatementFailed, with its index among the steps; TimeIsUp
   */
  attempt(steps: readonly Step[], timeoutMs?: number): Promise<readonly Answer[]>
  /** Runs one statement as administrators do, without policies. */
  attemptPastPolicies(step: Call): Promise<Answer>
  /** Runs statements of the data path, which are recorded as it sent them. */
  record(steps: readonly Step[], isPastPolicies?: boolean): Promise<readonly Answer[]>
}

/** Maximum duration of an explanation, which holds a connection. The rest of a longer one is not evaluated. */
const budgetMs = 20_000
/** Maximum duration of a statement, unless it is a rehearsed request. */
const evaluationMs = 3000
/** Maximum time that a write waits for row locks. */
const lockMs = 1000

/** Error after the maximum duration of the explanation. */
export class TimeIsUp extends Error {}

class Undone extends Error {}

const call = (text: string): Call => ({ statement: statement(text), values: [] })
const mark = call('savepoint rehearsed')
const undo = call('rollback to savepoint rehearsed')
const checkConstraints = call('set constraints all immediate')
const setTimeout = statement("select set_config('statement_timeout', $1, true)")
const exportSnapshot = call('select pg_export_snapshot()')

/**
 * Runs the work on two connections with one state of the database: the caller's, and one without policies. No
 * statement of either can assume the role of the other.
 *
 * @param signal cancels running and pending statements
 * @throws ConnectionLost when the client has disconnected
 */
export async function rehearse<Result>(
  { user, aside }: Pick<Database, 'user' | 'aside'>,
  scope: CallerScope,
  signal: AbortSignal,
  work: (rehearsal: Rehearsal) => Promise<Result>,
): Promise<Result> {
  // The rehearsal may have waited for a slot.
  requireClient(signal)
  const connections: Connection[] = []
  const cancel = () => void connections.map((connection) => aside.cancel(connection))
  signal.addEventListener('abort', cancel, { once: true })
  let outcome: { readonly result: Result } | undefined
  try {
    const settings = { lock_timeout: String(lockMs), statement_timeout: String(evaluationMs) }
    const administrator = { kind: 'unrestricted' } as const
    const ofCaller = await openInto(connections, aside, scope)
    const ofAdministrator = await openInto(connections, aside, administrator)
    await user.transaction(ofCaller, scope, { settings, isSnapshot: true }, async (caller) => {
      const [exported] = await caller.run([exportSnapshot])
      const snapshot = exported?.rows[0]?.[0] ?? ''
      await user.transaction(ofAdministrator, administrator, { settings, snapshot }, async (past) => {
        outcome = { result: await work(rehearsalIn(caller, past, signal)) }
        throw new Undone()
      })
    })
  } catch (error) {
    if (!(error instanceof Undone)) throw error
  } finally {
    signal.removeEventListener('abort', cancel)
    await Promise.all(connections.map((connection) => connection.close()))
  }
  if (outcome === undefined) throw new Error('a rehearsal ended without its outcome')
  return outcome.result
}

async function openInto(
  connections: Connection[],
  aside: Database['aside'],
  scope: CallerScope,
): Promise<Connection> {
  const connection = await aside.openFor(scope)
  connections.push(connection)
  return connection
}

function requireClient(signal: AbortSignal): void {
  if (signal.aborted) throw new ConnectionLost('the client has disconnected')
}

function rehearsalIn(
  caller: UserTransaction,
  administrator: UserTransaction,
  signal: AbortSignal,
): Rehearsal {
  const endsAt = performance.now() + budgetMs

  async function attemptIn(
    transaction: UserTransaction,
    steps: readonly Step[],
    timeoutMs = evaluationMs,
  ): Promise<readonly Answer[]> {
    requireClient(signal)
    const leftMs = Math.round(Math.min(timeoutMs, endsAt - performance.now()))
    if (leftMs <= 0) throw new TimeIsUp()
    const before: Step[] = [mark, { statement: setTimeout, values: [String(leftMs)] }]
    try {
      const answers = await transaction.run([...before, ...steps, checkConstraints, undo])
      return answers.slice(before.length, before.length + steps.length)
    } catch (error) {
      // A statement that was cancelled for its client is no verdict.
      requireClient(signal)
      const failure = error instanceof ServerStepFailed ? error.failure : error
      if (!(failure instanceof StatementFailed)) throw error
      await transaction.run([undo])
      throw new StatementFailed(failure.error, Math.max(0, failure.index - before.length))
    }
  }

  return {
    attempt: (steps, timeoutMs) => attemptIn(caller, steps, timeoutMs),
    async attemptPastPolicies(step) {
      const [answer] = await attemptIn(administrator, [step])
      return answer ?? { rows: [], count: 0 }
    },
    record: (steps, isPastPolicies = false) =>
      attemptIn(isPastPolicies ? administrator : caller, steps, budgetMs),
  }
}

/** Converts a statement of our own, whose values are texts, to a call. */
export function toCall(fragment: Sql): Call {
  const { text, values } = render(fragment)
  // Fragments of these features bind only texts, lists of texts and null.
  return {
    statement: statement(text),
    values: values.map((value) => (Array.isArray(value) ? arrayLiteral(value) : (value as string | null))),
  }
}
