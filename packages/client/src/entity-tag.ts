import { readJson } from './response.ts'
import type { WriteOptions } from './transport.ts'

/**
 * Member of a record with its entity tag. It is not enumerable, so neither JSON nor a copy has it, and no column can have its
 * name. Proxies of a framework pass it on.
 */
const tagMember = Symbol('entity tag')

/** Options of a write of one record. */
export interface ConditionalOptions extends WriteOptions {
  /**
   * Record as it was read, or its entity tag. If the record has changed since, nothing is written, and the call rejects with
   * `precondition_failed`. `*` means that the record exists.
   */
  readonly ifMatch?: object | string | undefined
}

/**
 * Returns the entity tag of a record that `one`, a write or a batch has returned. Records of lists, and copies of records, have
 * none.
 */
export function etagOf(record: object): string | undefined {
  return (record as { readonly [tagMember]?: string } | null)?.[tagMember]
}

/** @internal Returns the record in a response, with its entity tag. */
export async function readTagged(response: Response): Promise<unknown> {
  return tagRecord(await readJson(response), response.headers.get('etag'))
}

/** @internal Returns the record, with its entity tag. A weak tag fulfils no condition. */
export function tagRecord(record: unknown, tag: string | null | undefined): unknown {
  if (tag?.startsWith('"') && typeof record === 'object' && record !== null)
    Object.defineProperty(record, tagMember, { value: tag })
  return record
}

/** @internal Returns the entity tag of a condition. @throws TypeError for a record without one */
export function formatCondition(ifMatch: object | string): string {
  const tag = typeof ifMatch === 'string' ? ifMatch : etagOf(ifMatch)
  if (tag !== undefined) return tag
  throw new TypeError('ifMatch is an entity tag, or a record that one, a write or a batch has returned')
}

/** @internal Returns the options of a request, with the condition as a header. */
export function withCondition({ ifMatch, ...options }: ConditionalOptions) {
  return ifMatch === undefined ? options : { ...options, headers: { 'if-match': formatCondition(ifMatch) } }
}
