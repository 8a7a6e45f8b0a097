import type { CallerScope, Origin } from './caller/caller-scope.ts'
import { ServerStepFailed, type Step } from './caller/caller-steps.ts'
import { type Answer, type Call, StatementFailed, statement } from './connection/message.ts'
import { rollback } from './session/reset.ts'

/** Identity of steps, and the origin of their writes. */
export interface StepIdentity {
  readonly scope: CallerScope
  readonly origin: Origin | undefined
}

/** Transaction of a caller in which work beside the database decides between the messages. */
export interface InteractiveTransaction {
  /**
   * Runs the steps in one message. Calls do not overlap.
   *
   * @param accept throws for results to refuse; the steps are then undone
   * @param identity other than that of the transaction, which has to allow it
   * @throws StatementFailed with the index of the failing step, which is undone; the transaction continues without it
   */
  run(
    steps: readonly Step[],
    accept?: (answers: readonly Answer[]) => void,
    identity?: StepIdentity,
  ): Promise<readonly Answer[]>
  /** Runs work whose steps are undone together when it throws. The work uses only its own transaction meanwhile. */
  nest<Result>(work: (transaction: InteractiveTransaction) => Promise<Result>): Promise<Result>
}

export interface UndoableOptions {
  /** Calls that begin the transaction, in the message of its first step; undefined if it is open. */
  readonly opening?: readonly Call[]
  /**
   * Sends calls and then steps of the caller, or of the identity, in one message.
   *
   * @throws StatementFailed with the index of the failing step, ServerStepFailed
   */
  readonly send: (
    calls: readonly Call[],
    steps: readonly Step[],
    identity?: StepIdentity,
  ) => Promise<readonly Answer[]>
  /** Returns true to run a failed step again, which was undone. @param attempt number of the failed one, from 1 */
  readonly mayRepeat?: (error: unknown, attempt: number, identity?: StepIdentity) => Promise<boolean>
}

export interface UndoableSteps {
  readonly transaction: InteractiveTransaction
  /**
   * Ends the steps, once the one in flight has ended.
   *
   * @returns true if the transaction has begun
   */
  end(): Promise<boolean>
  /** @throws the failure of an undo, after which the transaction cannot be committed */
  requireIntact(): void
}

/** Part of a transaction that can be undone. Its savepoint is set with its first step. */
interface Nest {
  readonly name: string
  isSet: boolean
}

function savepoint(command: 'savepoint' | 'release savepoint' | 'rollback to savepoint', name: string): Call {
  return { statement: statement(`${command} ${name}`), values: [] }
}

function undoing(name: string): readonly Call[] {
  return [savepoint('rollback to savepoint', name), savepoint('release savepoint', name)]
}

/** Returns a transaction that continues after a failed step: each one has a savepoint. */
export function undoableSteps({ opening, send, mayRepeat }: UndoableOptions): UndoableSteps {
  const nests: Nest[] = []
  let isOpen = opening === undefined
  let hasEnded = false
  let sending: Promise<unknown> | undefined
  // The savepoint of the previous step is released with the next step, because the results may be refused.
  let held: string | undefined
  let broken: { readonly error: unknown } | undefined

  const requireIntact = () => {
    if (broken !== undefined) throw broken.error
  }
  const undo = async (calls: readonly Call[]) => {
    try {
      await send(calls, [])
    } catch (error) {
      broken = { error }
    }
  }
  const runOnce: InteractiveTransaction['run'] = async (steps, accept, identity) => {
    requireIntact()
    // Two names, so that a step that fails before its savepoint is set cannot undo the one before it.
    const own = held === 'basalt_step' ? 'basalt_step_2' : 'basalt_step'
    const wasOpen = isOpen
    const unset = nests.filter(({ isSet }) => !isSet)
    const calls = [
      ...(wasOpen ? [] : (opening ?? [])),
      ...(held === undefined ? [] : [savepoint('release savepoint', held)]),
      ...unset.map(({ name }) => savepoint('savepoint', name)),
      ...(wasOpen ? [savepoint('savepoint', own)] : []),
    ]
    const undoStep = async () => {
      held = undefined
      await undo(wasOpen ? undoing(own) : [rollback])
      if (wasOpen) for (const each of unset) each.isSet = true
    }
    let answers: readonly Answer[]
    try {
      answers = await send(calls, steps, identity)
    } catch (error) {
      if (error instanceof StatementFailed || error instanceof ServerStepFailed) await undoStep()
      else broken = { error }
      throw error
    }
    try {
      accept?.(answers)
    } catch (error) {
      await undoStep()
      throw error
    }
    held = wasOpen ? own : undefined
    isOpen = true
    for (const each of unset) each.isSet = true
    return answers
  }
  const runAttempt = async (
    steps: readonly Step[],
    accept: Parameters<InteractiveTransaction['run']>[1],
    identity: StepIdentity | undefined,
    attempt: number,
  ): Promise<readonly Answer[]> => {
    try {
      return await runOnce(steps, accept, identity)
    } catch (error) {
      if (broken !== undefined || (await mayRepeat?.(error, attempt, identity)) !== true) throw error
      return await runAttempt(steps, accept, identity, attempt + 1)
    }
  }
  const run: InteractiveTransaction['run'] = (steps, accept, identity) => {
    if (hasEnded) throw new Error('the transaction has ended')
    const sent = runAttempt(steps, accept, identity, 1)
    sending = sent
    return sent
  }
  const idle = async () => {
    await sending?.catch(() => undefined)
  }
  const nest: InteractiveTransaction['nest'] = async (work) => {
    const own: Nest = { name: `basalt_nest_${nests.length}`, isSet: false }
    nests.push(own)
    const leave = async (finish: () => Promise<unknown>) => {
      await idle()
      if (!own.isSet || hasEnded || broken !== undefined) return
      // It is within the nest, and ends with it.
      held = undefined
      sending = finish()
      await sending
    }
    try {
      const result = await work({ run, nest })
      await leave(() => send([savepoint('release savepoint', own.name)], []))
      return result
    } catch (error) {
      await leave(() => undo(undoing(own.name)))
      throw error
    } finally {
      nests.pop()
    }
  }
  return {
    transaction: { run, nest },
    requireIntact,
    async end() {
      hasEnded = true
      await idle()
      return isOpen
    },
  }
}
