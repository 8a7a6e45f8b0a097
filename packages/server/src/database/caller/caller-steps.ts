import { type Answer, type Call, StatementFailed, statement } from '../connection/message.ts'
import { translateDatabaseFailure } from '../errors/error-translation.ts'
import { conflictCodes } from '../errors/retry.ts'
import { anonymousRole, type CallerScope, callerRole } from './caller-scope.ts'

/** A call of a run. */
export interface Step extends Call {
  /** Runs as the login role, for every caller: for what the server itself keeps beside the caller's data. */
  readonly asLogin?: boolean
  readonly forFew?: AlternativeForFew
}

/** Call that answers the same, quicker for callers who see few rows of the first relation that the step reads. */
export interface AlternativeForFew {
  /** Rows that the caller may be expected to see at most. */
  readonly rows: number
  readonly call: () => Call
}

/** A step of the login role was refused as requests are: what was wrong is not for the caller to know. */
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
/** Of the scopes that do not work as the login role. */
const becomeRole = { caller: become(callerRole), anonymous: become(anonymousRole) }

/** Undefined for the login role. */
export function roleOf({ kind }: CallerScope): Call | undefined {
  return kind === 'unrestricted' ? undefined : becomeRole[kind]
}

/** A message, and where in it the steps are. */
export interface StepMessage {
  readonly calls: readonly Call[]
  readonly steps: readonly Step[]
  /** Index of each step among the calls. */
  readonly places: readonly number[]
}

/** Every call of a message that succeeded has an answer; this one satisfies the compiler. */
const noAnswer: Answer = { rows: [], count: 0 }

/** Those of the steps, of what a message was answered. */
export function answersOf(
  { places }: Pick<StepMessage, 'places'>,
  answers: readonly Answer[],
): readonly Answer[] {
  return places.map((place) => answers[place] ?? noAnswer)
}

/**
 * Puts changes of the role around the steps of the login role.
 *
 * @param before calls that come first
 */
export function placeSteps(
  scope: CallerScope,
  steps: readonly Step[],
  before: readonly Call[] = [],
): StepMessage {
  const calls: Call[] = [...before]
  const role = roleOf(scope)
  const places: number[] = []
  let isLogin = false
  for (const step of steps) {
    const wantsLogin = role !== undefined && step.asLogin === true
    if (role !== undefined && wantsLogin !== isLogin) calls.push(wantsLogin ? becomeLogin : role)
    isLogin = wantsLogin
    places.push(calls.push(step) - 1)
  }
  // Before PostgreSQL 18, triggers that wait for the commit run as the role that is set then.
  if (role !== undefined && isLogin) calls.push(role)
  return { calls, steps, places }
}

/** The failure with its index among the steps; one between them counts as that of the step it prepares. */
export function locateFailure(error: unknown, { steps, places }: StepMessage): unknown {
  if (!(error instanceof StatementFailed)) return error
  const index = places.findIndex((place) => place >= error.index)
  const located = new StatementFailed(error.error, index === -1 ? places.length : index)
  return steps[index]?.asLogin === true && isFaultOfRequest(located) ? new ServerStepFailed(located) : located
}

/** Whether the caller would learn that the request is to blame. */
function isFaultOfRequest(failure: StatementFailed): boolean {
  const status = translateDatabaseFailure(failure)?.status ?? 500
  return status < 500 && !conflictCodes.has(failure.error.code ?? '')
}
