import type { FastifyReply, FastifyRequest } from 'fastify'
import { parseLogPosition } from '../../../../database/replicas/log-position.ts'
import type { ReadConsistency } from '../../../../database/replicas/read-consistency.ts'
import type { Identity } from '../../../../http/access/identity.ts'
import { collectionErrors } from '../errors.ts'
import type { Caller } from './caller.ts'

/** Header with the position of the log: of a response, after its write; of a request, which its reads must see. */
const positionHeader = 'x-basalt-position'

/** Returns how reads and writes of a request meet replicas. Nothing is read from it unless there are some. */
export function replicaUseOf(
  request: FastifyRequest,
  reply: FastifyReply,
  identity: Identity,
): Required<Pick<Caller, 'consistency' | 'onPosition'>> {
  return {
    consistency: () => readConsistencyOf(request, identity),
    onPosition: (position) => void reply.header(positionHeader, position),
  }
}

/**
 * Returns the state that the reads of a request must see. Without a position a caller with a token reads from the
 * primary: another client of the same user may have written.
 *
 * @throws AppError invalid_read_consistency, invalid_position
 */
function readConsistencyOf({ headers }: FastifyRequest, { kind }: Identity): ReadConsistency {
  const requested = headers['x-read-consistency']
  if (requested !== undefined && requested !== 'eventual' && requested !== 'strong') {
    throw collectionErrors.invalidReadConsistency()
  }
  const text = headers[positionHeader]
  const position = typeof text === 'string' ? parseLogPosition(text) : undefined
  if (text !== undefined && position === undefined) throw collectionErrors.invalidPosition()
  const hasToken = kind !== 'anonymous' && kind !== 'open'
  const admitsReplicas =
    requested === 'eventual' || (requested === undefined && (position !== undefined || !hasToken))
  return { admitsReplicas, position, isEventual: requested === 'eventual' }
}
