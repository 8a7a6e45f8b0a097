import type { Scope } from '../opaque-tokens/index.ts'
import { ProtocolError } from './protocol-error.ts'

/** From the one that permits least. */
export const scopes: readonly Scope[] = ['readonly', 'readwrite', '*']
const tablesLimit = 1000
const tableNameLimit = 200

export function isScope(text: string): text is Scope {
  return scopes.some((scope) => scope === text)
}

/** Whether a client may ask for a scope: one that it lists, or any if it lists `*`. */
export function mayRequest(listed: readonly string[], scope: string): scope is Scope {
  return isScope(scope) && (listed.includes(scope) || listed.includes('*'))
}

/** The scopes that permit at least as much. */
export function permitting(scope: Scope): readonly Scope[] {
  return scopes.slice(scopes.indexOf(scope))
}

/** What a client may do, and with which collections; no tables means all. */
export interface Access {
  readonly scope: Scope
  readonly allowedTables: readonly string[]
}

/** Whether what was consented to covers what is asked for. */
export function covers(consented: Access, asked: Access): boolean {
  if (scopes.indexOf(consented.scope) < scopes.indexOf(asked.scope)) return false
  if (consented.allowedTables.length === 0) return true
  return (
    asked.allowedTables.length > 0 &&
    asked.allowedTables.every((name) => consented.allowedTables.includes(name))
  )
}

/** Names of collections; a text may be a list with commas. @throws ProtocolError invalid_request */
export function readTables(given: readonly string[]): string[] {
  const names = given
    .flatMap((text) => text.split(','))
    .map((name) => name.trim())
    .filter((name) => name !== '')
  if (names.length > tablesLimit)
    throw new ProtocolError('invalid_request', `allowed_tables: at most ${tablesLimit}`)
  for (const name of names) {
    if (name.length > tableNameLimit || name.includes('\0')) {
      throw new ProtocolError('invalid_request', 'allowed_tables: expected names of collections')
    }
  }
  return [...new Set(names)]
}
