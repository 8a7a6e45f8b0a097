import { pushErrors } from './errors.ts'

/** Members of requests that several routes read. */

const longestLimit = 500

/** Names that every provider could take. */
export const topicForm = /^[a-zA-Z0-9_.~%-]{1,100}$/

export function topicProblem(member: string): string {
  return `${member}: expected names of 1 to 100 letters, digits and -_.~%`
}

/** @throws AppError invalid_push */
export function readRange(
  { limit, offset = 0 }: { readonly limit?: number | undefined; readonly offset?: number | undefined },
  fallback = longestLimit,
) {
  if (limit !== undefined && limit < 1) throw pushErrors.invalidPush('limit: expected an integer from 1')
  if (offset < 0) throw pushErrors.invalidPush('offset: expected an integer from 0')
  return { limit: Math.min(limit ?? fallback, longestLimit), offset }
}

/** @throws AppError invalid_push */
export function readFlag(name: string, given = 'false'): boolean {
  if (given !== 'true' && given !== 'false') throw pushErrors.invalidPush(`${name}: expected true or false`)
  return given === 'true'
}
