import { type Answer, type Call, StatementFailed, statement } from '../connection/message.ts'
import { asConflict } from '../distributed/stale-read.ts'
import { withoutShards } from '../distributed/worker-failures.ts'
import { translateDatabaseFailure } from '../errors/error-translation.ts'
import { conflictCodes } from '../errors/retry.ts'
import { anonymousRole, type CallerScope, callerRole } from './caller-scope.ts'

/** Call of a run. */
export interface Step extends Call {
  /**
   * True if the step runs as the login role for every caller, because it writes data of the server beside the
   * caller's.
   */
  readonly asLogin?: boolean
  readonly forFew?: AlternativeForFew
}

/** Call with the same result, quicker for callers who see few rows of the step's first relation. */
export interface AlternativeForFew {
  /** Maximum number of rows that the caller may be expected to see. */
  readonly rows: number
  readonly call: () => Call
}

/**
 * Failure of a step of the login role that looks like a fault of the request. Its details are hidden from the
 * caller.
 */
export class ServerStepFailed extends Error {
  readonly failure: StatementFailed

  constructor(failure: StatementFailed) {
    super('a step of the server itself failed', { cause: failure.error })
    this.failure = failure
  }
}

function become(role: string): Call {
  return { statement: statement(`select set_config('role', '${role}', true)`), values: [] }
}

export const becomeLogin = become('none')
/** Calls that set the role, by the scopes with a role other than the login role. */
const becomeRole = { caller: become(callerRole), anonymous: become(anonymousRole) }

/** Returns the call that sets the role; undefined for the login role. */
export function roleOf({ kind }: CallerScope): Call | undefined {
  return kind === 'unrestricted' ? undefined : becomeRole[kind]
}

/** Message, with the positions of the steps in it. */
export interface StepMessage {
  readonly calls: readonly Call[]
  readonly steps: readonly Step[]
  /** Index of each step among the calls. */
  readonly positions: readonly number[]
}

/** Placeholder for the compiler: every call of a successful message has a result. */
const noAnswer: Answer = { rows: [], count: 0 }

/** Returns the results of the steps from those of their message. */
export function answersOf(
  { positions }: Pick<StepMessage, 'positions'>,
  answers: readonly Answer[],
): readonly Answer[] {
  return positions.map((position) => answers[position] ?? noAnswer)
}

/**
 * Builds the message of the steps, and switches the role around those of the login role.
 *
 * @param before calls that come first
 */
export function buildMessage(
  scope: CallerScope,
  steps: readonly Step[],
  before: readonly Call[] = [],
): StepMessage {
  const calls: Call[] = [...before]
  const role = roleOf(scope)
  const positions: number[] = []
  let isLogin = false
  for (const step of steps) {
    const wantsLogin = role !== undefined && step.asLogin === true
    if (role !== undefined && wantsLogin !== isLogin) calls.push(wantsLogin ? becomeLogin : role)
    isLogin = wantsLogin
    positions.push(calls.push(step) - 1)
  }
  // Before PostgreSQL 18, deferred triggers run as the role that is current at the commit.
  if (role !== undefined && isLogin) calls.push(role)
  return { calls, steps, positions }
}

/**
 * Sends the steps in one message.
 *
 * @param send sends the calls of the message
 * @param around calls that come before and after the steps
 * @throws StatementFailed with the index of the failing step, ServerStepFailed
 */
export async function sendSteps(
  send: (calls: readonly Call[]) => Promise<readonly Answer[]>,
  scope: CallerScope,
  steps: readonly Step[],
  { before = [], after = [] }: { readonly before?: readonly Call[]; readonly after?: readonly Call[] } = {},
): Promise<readonly Answer[]> {
  const message = buildMessage(scope, steps, before)
  try {
    return answersOf(message, await send([...message.calls, ...after]))
  } catch (error) {
    throw locateFailure(error, message)
  }
}

/**
 * Returns the failure with its index among the steps. A failure between two steps counts as one of the step
 * that it prepares.
 */
export function locateFailure(error: unknown, { steps, positions }: StepMessage): unknown {
  if (!(error instanceof StatementFailed)) return error
  const index = positions.findIndex((position) => position >= error.index)
  const reported = asConflict(withoutShards(error.error))
  const located = new StatementFailed(reported, index === -1 ? positions.length : index)
  return steps[index]?.asLogin === true && isFaultOfRequest(located) ? new ServerStepFailed(located) : located
}

/** Returns true if the error would blame the request. */
function isFaultOfRequest(failure: StatementFailed): boolean {
  const status = translateDatabaseFailure(failure)?.status ?? 500
  return status < 500 && !conflictCodes.has(failure.error.code ?? '')
}
