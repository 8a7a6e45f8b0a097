import { checkedByHandler, refusedWith } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'
import { isUuid, uuidPattern } from '../../../lib/uuid.ts'
import { pushErrors } from './errors.ts'

/** Maximum length of a list. */

const longestLimit = 500

const invalid = (problem: string) => () => pushErrors.invalidPush(problem)

/** Returns the schema of an id in a request. */
export function idOf(name: string) {
  return refusedWith(
    { missing: invalid(`${name} is required`), invalid: invalid(`${name}: expected a UUID`) },
    checkedByHandler({ format: 'uuid' }, Type.String({ minLength: 1, pattern: uuidPattern })),
  )
}

/** Returns an id that the handler checks after other members. @throws AppError invalid_push */
export function requireId(name: string, value = ''): string {
  if (value === '') throw pushErrors.invalidPush(`${name} is required`)
  if (!isUuid(value)) throw pushErrors.invalidPush(`${name}: expected a UUID`)
  return value
}

export const params = Type.Object({ id: idOf('id') })

/** Returns the parameters of a part of a list, which {@link readRange} reads. */
export function rangeOf(description: string) {
  return {
    limit: Type.Optional(checkedByHandler({ minimum: 1 }, Type.Integer({ description }))),
    offset: Type.Optional(checkedByHandler({ minimum: 0 }, Type.Integer())),
  }
}

/** Reads a part of a list. @throws AppError invalid_push */
export function readRange(
  { limit, offset = 0 }: { readonly limit?: number; readonly offset?: number },
  fallback = longestLimit,
) {
  if (limit !== undefined && limit < 1) throw pushErrors.invalidPush('limit: expected an integer from 1')
  if (offset < 0) throw pushErrors.invalidPush('offset: expected an integer from 0')
  return { limit: Math.min(limit ?? fallback, longestLimit), offset }
}
