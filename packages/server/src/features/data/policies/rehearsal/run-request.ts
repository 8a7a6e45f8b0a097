import type { UserDatabase } from '../../../../database/user-database.ts'
import { AppError } from '../../../../lib/errors.ts'
import type { CollectionRequest, Collections } from '../../collections/index.ts'
import { describeFailure } from '../evaluation/evaluate.ts'
import type { ExaminedCaller } from '../examined-caller.ts'
import { type Rehearsal, TimeIsUp } from './rehearsal.ts'

/** Function that opens the collections on another database access. */
export type OpenCollections = (database: Pick<UserDatabase, 'run' | 'begin'>) => Collections

/** Statement as it was sent. */
export interface SentStatement {
  readonly text: string
  readonly values: readonly (string | null)[]
}

/** Response that the API would have returned. */
export interface Outcome {
  readonly status: number
  /** Error slug of a rejected request. */
  readonly error?: string
  readonly message?: string
  readonly data?: Readonly<Record<string, unknown>>
  /** JSON text of the body, if there is one. */
  readonly body?: string
}

export interface ProductionRun {
  readonly outcome: Outcome
  /** First statement that was sent. Undefined when the request was rejected before that. */
  readonly statement: SentStatement | undefined
}

/** Function that sends a request to the collections, as the route does for a client. */
export type SendRequest = (
  collections: Collections,
  caller: CollectionRequest['caller'],
) => Promise<string | undefined>

/** Sends the request through the data API itself, within the rehearsal, so that all its effects are undone. */
export async function runRequest(
  { open, rehearsal }: { readonly open: OpenCollections; readonly rehearsal: Rehearsal },
  scope: ExaminedCaller['scope'] | { readonly kind: 'unrestricted' },
  request: SendRequest,
): Promise<ProductionRun> {
  let statement: SentStatement | undefined
  const collections = open({
    run(_scope, steps) {
      const [step] = steps
      statement ??= step && { text: step.statement.text, values: step.values }
      return rehearsal.record(steps, scope.kind === 'unrestricted')
    },
    begin: () => Promise.reject(new Error('a rehearsal has no exports')),
  })
  // Errors carry PostgreSQL's text, because an administrator reads them.
  const caller = { scope, isAdministrator: true, isAbandoned: () => false }
  try {
    const body = await request(collections, caller)
    return { outcome: { status: 200, ...(body === undefined ? {} : { body }) }, statement }
  } catch (error) {
    return { outcome: describeError(error), statement }
  } finally {
    await collections.exports.stop()
  }
}

function describeError(error: unknown): Outcome {
  if (error instanceof AppError) {
    const { status, kind, message, extras } = error
    return { status, error: kind, message, ...(extras.data === undefined ? {} : { data: extras.data }) }
  }
  const { message, sqlState } = describeFailure(error)
  return { status: error instanceof TimeIsUp ? 504 : 500, error: sqlState, message }
}
