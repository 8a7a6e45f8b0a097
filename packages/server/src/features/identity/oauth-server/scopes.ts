import { type Action, actions, isAction, orderActions } from '../../../http/access/actions.ts'
import { choice, component } from '../../../http/schemas.ts'
import type { Scope } from '../opaque-tokens/index.ts'
import { ProtocolError } from './protocol-error.ts'

/** Scopes of data, from the one that permits least. */
export const scopes: readonly Scope[] = ['readonly', 'readwrite', '*']
/** Members of a `scope` (RFC 6749 §3.3): one scope of data, and actions beside it. */
export const scopeTokens: readonly (Scope | Action)[] = [...scopes, ...actions]
export const OAuthScope = component('OAuthScope', choice(scopeTokens))
const tablesLimit = 1000
const tableNameLimit = 200

export function isScope(text: string): text is Scope {
  return scopes.some((scope) => scope === text)
}

/** Rights of a client, without tables: a scope of data, and actions. */
export interface Permission {
  readonly scope: Scope
  readonly actions: readonly Action[]
}

/** Reads a `scope` in any order (RFC 6749 §3.3). Returns undefined unless it names one scope of data and known actions. */
export function parsePermission(text: string): Permission | undefined {
  const tokens = new Set(text.split(' ').filter((token) => token !== ''))
  const [scope, ...others] = [...tokens].filter((token) => !isAction(token))
  if (scope === undefined || !isScope(scope) || others.length > 0) return undefined
  return { scope, actions: orderActions(tokens) }
}

/** Returns the `scope` of responses: the scope of data, then the actions. */
export function formatPermission({ scope, actions }: { scope: string; actions: readonly string[] }): string {
  return [scope, ...actions].join(' ')
}

/** Returns what a client asks for, if it may: a scope that it lists, or any if it lists `*`; actions that it lists. */
export function permit(listed: readonly string[], text: string): Permission | undefined {
  const asked = parsePermission(text)
  if (asked === undefined) return undefined
  const hasScope = listed.includes(asked.scope) || listed.includes('*')
  return hasScope && includesAll(listed, asked.actions) ? asked : undefined
}

function includesAll(list: readonly string[], wanted: readonly string[]): boolean {
  return wanted.every((each) => list.includes(each))
}

/** Returns the scopes that permit at least as much. */
export function permitting(scope: Scope): readonly Scope[] {
  return scopes.slice(scopes.indexOf(scope))
}

/** Returns whether a permission includes another one. */
export function permits(granted: Permission, asked: Permission): boolean {
  return permitting(asked.scope).includes(granted.scope) && includesAll(granted.actions, asked.actions)
}

/** Rights of a client, and the collections they are for; no tables means all. */
export interface Access extends Permission {
  readonly allowedTables: readonly string[]
}

/** Returns whether a consent covers a request. */
export function covers(consented: Access, asked: Access): boolean {
  if (!permits(consented, asked)) return false
  if (consented.allowedTables.length === 0) return true
  return asked.allowedTables.length > 0 && includesAll(consented.allowedTables, asked.allowedTables)
}

/** Reads names of collections; a text may be a list with commas. @throws ProtocolError invalid_request */
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
