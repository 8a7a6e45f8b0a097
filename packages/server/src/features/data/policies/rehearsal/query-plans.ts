import { type Call, statement } from '../../../../database/connection/message.ts'
import { describeFailure } from '../evaluation/evaluate.ts'
import type { Rehearsal } from './rehearsal.ts'
import type { SentStatement } from './run-request.ts'

/** Plan as EXPLAIN (FORMAT JSON) returns it, or the reason why there is none. */
export type ExplainedPlan =
  | { readonly plan: unknown }
  | { readonly error: { readonly message: string; readonly sqlState: string } }

export interface Plans {
  readonly withPolicies: ExplainedPlan
  readonly withoutPolicies: ExplainedPlan
}

/** Explains the plans of the statement for the caller and for the login role. @param isRun whether to run it */
export async function explainPlans(
  rehearsal: Rehearsal,
  sent: SentStatement,
  isRun: boolean,
): Promise<Plans> {
  const options = isRun ? 'format json, analyze, buffers' : 'format json'
  const call: Call = { statement: statement(`explain (${options}) ${sent.text}`), values: sent.values }
  return {
    withPolicies: await explain(async () => (await rehearsal.attempt([call]))[0]?.rows[0]?.[0]),
    withoutPolicies: await explain(async () => (await rehearsal.attemptPastPolicies(call)).rows[0]?.[0]),
  }
}

async function explain(run: () => Promise<string | null | undefined>): Promise<ExplainedPlan> {
  try {
    const [plan] = JSON.parse((await run()) ?? '[]') as unknown[]
    return { plan }
  } catch (error) {
    return { error: describeFailure(error) }
  }
}
