import { type Action, actionPattern, actions, isAction, orderActions } from '../../../http/access/actions.ts'
import { component } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'
import type { Scope } from '../opaque-tokens/index.ts'
import { ProtocolError } from './protocol-error.ts'

/** Data scopes, starting with the narrowest. */
export const scopes: readonly Scope[] = ['readonly', 'readwrite', '*']
/** Tokens of a `scope` (RFC 6749 §3.3) that every server has: data scopes, and actions. Functions have further ones. */
export const scopeTokens: readonly (Scope | Action)[] = [...scopes, ...actions]
export const OAuthScope = component(
  'OAuthScope',
  Type.Unsafe<Scope | Action>(Type.String({ pattern: `^(readonly|readwrite|\\*|${actionPattern})$` })),
)
const tablesLimit = 1000
const tableNameLimit = 200

export function isScope(text: string): text is Scope {
  return scopes.some((scope) => scope === text)
}

/** Permissions of a client, without tables: a data scope, and actions. */
export interface Permission {
  readonly scope: Scope
  readonly actions: readonly Action[]
}

/**
 * Parses a `scope` in any order (RFC 6749 §3.3). Returns undefined unless it names one data scope and known
 * actions.
 */
export function parsePermission(text: string): Permission | undefined {
  const tokens = new Set(text.split(' ').filter((token) => token !== ''))
  const [scope, ...others] = [...tokens].filter((token) => !isAction(token))
  if (scope === undefined || !isScope(scope) || others.length > 0) return undefined
  return { scope, actions: orderActions(tokens) }
}

/** Formats the `scope` of responses: the data scope, then the actions. */
export function formatPermission({ scope, actions }: { scope: string; actions: readonly string[] }): string {
  return [scope, ...actions].join(' ')
}

/**
 * Returns the requested permission if the client has it: a listed scope, or any if it lists `*`, and listed
 * actions.
 */
export function permit(listed: readonly string[], text: string): Permission | undefined {
  const requested = parsePermission(text)
  if (requested === undefined) return undefined
  const hasScope = listed.includes(requested.scope) || listed.includes('*')
  return hasScope && includesAll(listed, requested.actions) ? requested : undefined
}

function includesAll(list: readonly string[], needed: readonly string[]): boolean {
  return needed.every((each) => list.includes(each))
}

/** Returns the scopes that permit at least as much. */
export function permitting(scope: Scope): readonly Scope[] {
  return scopes.slice(scopes.indexOf(scope))
}

/** Returns whether a permission includes another one. */
export function permits(granted: Permission, requested: Permission): boolean {
  return (
    permitting(requested.scope).includes(granted.scope) && includesAll(granted.actions, requested.actions)
  )
}

/** Permissions of a client, with the collections that they apply to. No tables means all. */
export interface Access extends Permission {
  readonly allowedTables: readonly string[]
}

/** Returns whether a consent covers a request. */
export function covers(consented: Access, requested: Access): boolean {
  if (!permits(consented, requested)) return false
  if (consented.allowedTables.length === 0) return true
  return requested.allowedTables.length > 0 && includesAll(consented.allowedTables, requested.allowedTables)
}

/** Reads names of collections. A text may be a comma-separated list. @throws ProtocolError invalid_request */
export function readTables(texts: readonly string[]): string[] {
  const names = texts
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
