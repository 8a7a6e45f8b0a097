import { JobRefused } from '../../../job-queue.ts'
import { messageOf } from '../../../lib/errors.ts'
import { secondsBeforeRetry } from '../../../lib/retry-policy.ts'
import type { ChangeAttempt, ChangeHandlers, FunctionReceiver } from '../../events/webhooks/index.ts'
import { explain, retryPolicyOf } from './jobs.ts'
import type { AfterDescription } from './messages.ts'

/** Maximum number of changes that lead to each other by these functions. */
const depthLimit = 8
/** Maximum number of characters of the log lines that an attempt keeps. */
const outputLimit = 8000

/** Call of a function for a change. */
export interface AfterRun {
  readonly eventId: string
  /** Id in the log, and of the writes of the function. It has the depth. */
  readonly requestId: string
  readonly attempt: number
  readonly body: string
  readonly userId: string | undefined
  readonly signal: AbortSignal
  readonly onLog: (line: string) => void
}

/** Loaded functions that handle changes. */
export interface AfterHost {
  readonly afters: readonly AfterDescription[]
  readonly isAvailable: boolean
  /** Calls a function. @throws AppError */
  runAfter(description: AfterDescription, run: AfterRun): Promise<void>
}

/** Functions of this node that handle changes. */
export class AfterFunctions implements ChangeHandlers {
  readonly #host: () => AfterHost
  readonly #listeners: (() => void)[] = []

  constructor(host: () => AfterHost) {
    this.#host = host
  }

  get names(): readonly string[] {
    const { isAvailable, afters } = this.#host()
    return isAvailable ? afters.map(({ name }) => name) : []
  }

  onReady(listener: () => void): void {
    this.#listeners.push(listener)
  }

  /** Calls the listeners when other functions can be called. */
  ready(): void {
    for (const listener of this.#listeners) listener()
  }

  async handle(name: string, change: ChangeAttempt, signal: AbortSignal) {
    const { afters, isAvailable } = this.#host()
    const description = afters.find((each) => each.name === name)
    // A deploy has removed the function since the claim, or its process has ended.
    if (description === undefined || !isAvailable) return undefined
    const { eventId, attempt, body, origin } = change
    const depth = depthOf(origin)
    let output = ''
    try {
      if (depth > depthLimit)
        throw new JobRefused(`after functions have caused changes more than ${depthLimit} times in a row`)
      await this.#host().runAfter(description, {
        ...{ eventId, attempt, body, signal },
        requestId: `${eventId}#${depth}`,
        userId: origin[1] ?? undefined,
        onLog(line) {
          if (output.length < outputLimit) output += `${line}\n`.slice(0, outputLimit - output.length)
        },
      })
      return { error: undefined, retrySeconds: undefined, output }
    } catch (thrown) {
      const error = explain(thrown)
      const policy = retryPolicyOf(description.retries)
      const retrySeconds = error instanceof JobRefused ? undefined : secondsBeforeRetry(policy, attempt)
      return { error: messageOf(error), retrySeconds, output }
    }
  }
}

/** Returns the functions as receivers of changes. */
export function receiversOf(afters: readonly AfterDescription[]): readonly FunctionReceiver[] {
  return afters.map(({ name, table, operations: actions }) => ({ name, table, actions }))
}

/** Returns the number of functions in a row, with the one for this change. Clients cannot be the actor `job`. */
function depthOf([actor, , , requestId]: readonly (string | null)[]): number {
  const [, depth] = (actor === 'job' && /#(\d+)$/.exec(requestId ?? '')) || []
  return Number(depth ?? 0) + 1
}
