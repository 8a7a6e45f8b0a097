import type { Call } from '../connection/message.ts'
import { databaseErrors } from '../errors/errors.ts'
import { quoteIdentifier, quoteLiteral } from '../sql.ts'

/** Setting with which Citus repeats each later `set local` of the transaction on its workers. */
export const propagateSettings = { 'citus.propagate_set_commands': 'local' } as const

/**
 * Returns a call that sets a setting until the end of the transaction. `set` takes no parameters, so the value
 * becomes a literal, which means the same whatever `standard_conforming_strings` is. It is not prepared, because
 * its text contains the value.
 *
 * @throws AppError when the value contains NUL, which ends a text in the protocol
 */
export function setLocally([name, value]: readonly [name: string, value: string]): Call {
  if (value.includes('\0')) {
    throw databaseErrors.invalidValue('invalid value: text cannot hold the character U+0000')
  }
  const path = name.split('.').map(quoteIdentifier).join('.')
  const text = `set local ${path} = ${quoteLiteral(value)}`
  return { statement: { text, name: '', subject: undefined, reads: [] }, values: [] }
}
