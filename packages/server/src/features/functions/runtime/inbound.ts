import { statement } from '../../../database/connection/message.ts'
import { deleteInBatches } from '../../../database/delete-in-batches.ts'
import { translateDatabaseFailure } from '../../../database/errors/error-translation.ts'
import { sql } from '../../../database/sql.ts'
import type { SystemDatabase } from '../../../database/system-database.ts'
import { housekeeping, type JobQueue } from '../../../job-queue.ts'
import type { AppError } from '../../../lib/errors.ts'
import type { Caller } from '../../data/collections/index.ts'
import type { InboundDescription, Verified } from './messages.ts'
import type { Seals } from './seals.ts'
import type { CallWork } from './transaction.ts'

/** Days for which ids are kept. Services send a message again for some days, with a new time. */
const retentionDays = 30

const accept = statement('select basalt.accept_inbound_sealed($1, $2)')

export interface AcceptTerms {
  readonly seals: Seals
  /** Moment of `performance.now` at which the wait for another transaction with the message ends. */
  readonly deadline: number
  readonly signal: AbortSignal
  /** Makes the error at the deadline. */
  readonly refuse: () => AppError
}

/**
 * Records a message in the transaction of its function, which this begins. While another transaction has the message, it waits for the
 * end of that one.
 *
 * @throws AppError; the transaction has then been rolled back, unless it is that of other work, too
 */
export async function acceptMessage(
  work: CallWork,
  { inbound, tolerance }: InboundDescription,
  { id, time }: Verified,
  { seals, deadline, signal, refuse }: AcceptTerms,
): Promise<'accepted' | 'duplicate' | 'stale'> {
  const abort = () => work.rollback(refuse())
  const timer = setTimeout(abort, Math.max(0, deadline - performance.now()))
  signal.addEventListener('abort', abort, { once: true })
  try {
    const message = JSON.stringify({ name: inbound, id: id.toWellFormed(), time, tolerance })
    const values = [message, await seals.of(`inbound ${message}`)]
    const [answer] = await work.statements.run([{ statement: accept, values, asLogin: true }])
    return answer?.rows[0]?.[0] as 'accepted' | 'duplicate' | 'stale'
  } catch (error) {
    const { failure } = work
    if (!work.isNested) work.rollback()
    throw failure ?? translateDatabaseFailure(error) ?? error
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', abort)
  }
}

/** Returns the caller of a function that receives a message. */
export function inboundCaller(
  { as }: Pick<InboundDescription, 'as'>,
  requestId: string,
  address: () => string,
): Caller {
  return {
    scope: { kind: as === 'admin' ? 'unrestricted' : 'anonymous' },
    isAdministrator: as === 'admin',
    isAbandoned: () => false,
    origin: () => ({ actor: 'inbound', requestId, appId: '', keyId: '', address: address() }),
  }
}

/** Defines the daily job that removes old ids. */
export function defineRetention(database: SystemDatabase, queue: JobQueue): void {
  queue.define(
    housekeeping('inbound_message_retention', ({ retention_days = retentionDays }) =>
      deleteInBatches(
        database,
        'inbound_messages',
        sql`received_at < now() - make_interval(days => ${retention_days}::int)`,
      ),
    ),
  )
}
