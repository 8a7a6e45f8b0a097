import { readTokens, type SqlStatement, type SqlToken } from '../../lib/sql-statements.ts'

/** Effect of a statement, judged by its text. */
export interface Effect {
  /**
   * Kind of effect. `defines`: changes the catalog and evaluates nothing. `checks`: may evaluate expressions
   * over the rows of a table. `works`: reads or writes rows. `unknown`: may do anything.
   */
  readonly kind: 'defines' | 'checks' | 'works' | 'unknown'
  /** True if a name in a later statement may then refer to another function or table. */
  readonly isRedefining: boolean
  /** True if it may take sequence numbers for new rows. */
  readonly isInserting: boolean
  /** Names that it uses, as PostgreSQL folds them. */
  readonly names: readonly string[]
  /** Names with a parenthesis after them. */
  readonly calls: readonly string[]
}

const definable = new Set([
  ...[
    'table',
    'view',
    'materialized',
    'index',
    'policy',
    'type',
    'domain',
    'sequence',
    'schema',
    'trigger',
    'rule',
  ],
  ...['function', 'procedure', 'role', 'user', 'group', 'statistics', 'publication', 'collation'],
])
/** Words between `create` and the kind of object. */
const qualifiers = new Set([
  ...[
    'or',
    'replace',
    'temp',
    'temporary',
    'unlogged',
    'global',
    'local',
    'recursive',
    'unique',
    'constraint',
  ],
])
const working = new Set([
  'select',
  'insert',
  'update',
  'delete',
  'merge',
  'values',
  'table',
  'with',
  'truncate',
])
const defining = new Set(['comment', 'grant', 'revoke', 'set', 'reset'])
/** Languages whose validator does not load a library. */
const languages = new Set(['sql', 'plpgsql'])

/** Returns the effect of a statement, unknown unless it is known to be harmless. Pure. */
export function readEffect({ text }: Pick<SqlStatement, 'text'>): Effect {
  const tokens = [...readTokens(text)]
  const named = tokens.flatMap((token, index) => {
    const name = nameOf(token)
    return name === undefined ? [] : [{ name, isCall: tokens[index + 1]?.text === '(' }]
  })
  const words = wordsOf(tokens)
  const noun = nounOf(words)
  return {
    // The escapes of such a name are not parsed.
    kind: tokens.some((token) => /^u&"/i.test(token.text)) ? 'unknown' : kindOf(words, noun, tokens),
    isRedefining: noun === 'function' || noun === 'procedure' || words.includes('rename') || isMoving(words),
    isInserting: words.includes('insert') || words.includes('merge'),
    names: [...new Set(named.map(({ name }) => name))],
    calls: [...new Set(named.flatMap(({ name, isCall }) => (isCall ? [name] : [])))],
  }
}

function kindOf(words: readonly string[], noun: string, tokens: readonly SqlToken[]): Effect['kind'] {
  const [first = ''] = words
  // With another setting a backslash ends no string, and the rest of the text would be misread here.
  if (words.includes('standard_conforming_strings')) return 'unknown'
  if (working.has(first)) return 'works'
  if (defining.has(first)) return 'defines'
  if (first === 'alter' && noun === 'default') return words[2] === 'privileges' ? 'defines' : 'unknown'
  if (first === 'drop' && noun === 'owned') return 'defines'
  if (!['create', 'alter', 'drop'].includes(first) || !definable.has(noun)) return 'unknown'
  if (first === 'drop') return 'defines'
  if (first === 'alter') return noun === 'table' || noun === 'domain' ? 'checks' : 'defines'
  if (noun === 'index') return 'checks'
  if (noun === 'materialized' || (noun === 'table' && isOfQuery(tokens))) return 'works'
  const isRoutine = noun === 'function' || noun === 'procedure'
  return isRoutine && !isPlainRoutine(tokens) ? 'unknown' : 'defines'
}

/** Returns the kind of object in a `create`, `alter` or `drop`. */
function nounOf([, ...rest]: readonly string[]): string {
  return rest.find((word) => !qualifiers.has(word)) ?? ''
}

function isMoving(words: readonly string[]): boolean {
  return words.some((word, index) => word === 'set' && words[index + 1] === 'schema')
}

/** Returns true if the table is created from a query, by `as` outside of its columns. */
function isOfQuery(tokens: readonly SqlToken[]): boolean {
  let depth = 0
  return tokens.some(({ kind, text }) => {
    if (text === '(') depth += 1
    if (text === ')') depth -= 1
    return kind === 'word' && depth === 0 && text.toLowerCase() === 'as'
  })
}

/**
 * Returns true if the routine is in SQL or another harmless language. Each mention counts, because one may be
 * in the text of a default.
 */
function isPlainRoutine(tokens: readonly SqlToken[]): boolean {
  return tokens.every(({ kind, text }, index) => {
    if (kind !== 'word' || text.toLowerCase() !== 'language') return true
    const next = tokens[index + 1]?.text.toLowerCase() ?? ''
    return languages.has(next.replace(/^['"]|['"]$/g, ''))
  })
}

function wordsOf(tokens: readonly SqlToken[]): string[] {
  return tokens.flatMap(({ kind, text }) => (kind === 'word' ? [text.toLowerCase()] : []))
}

/** Returns a word or a quoted name, as PostgreSQL folds it. */
function nameOf({ kind, text }: SqlToken): string | undefined {
  if (kind === 'word') return text.toLowerCase()
  return kind === 'string' && text.startsWith('"') ? text.slice(1, -1).replaceAll('""', '"') : undefined
}
