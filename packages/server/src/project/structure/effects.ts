import { readTokens, type SqlStatement, type SqlToken } from '../../lib/sql-statements.ts'

/** What a statement does when it runs, as far as its text says. */
export interface Effect {
  /**
   * `defines`: changes the catalog and evaluates nothing. `checks`: may evaluate expressions over the rows of a table.
   * `works`: reads or writes rows. `unknown`: may do anything.
   */
  readonly kind: 'defines' | 'checks' | 'works' | 'unknown'
  /** Whether a name that a later statement calls may be another function or table afterwards. */
  readonly isRedefining: boolean
  /** Whether it may take numbers of sequences for new rows. */
  readonly isInserting: boolean
  /** Names that it uses, as PostgreSQL folds them. */
  readonly names: readonly string[]
  /** Those of them with a parenthesis after them. */
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
/** Words between `create` and what is created. */
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
/** Those whose validator does not load a library. */
const languages = new Set(['sql', 'plpgsql'])

/** Pure. What is not known to be harmless is unknown. */
export function readEffect({ text }: Pick<SqlStatement, 'text'>): Effect {
  const tokens = [...readTokens(text)]
  const named = tokens.flatMap((token, index) => {
    const name = nameOf(token)
    return name === undefined ? [] : [{ name, isCall: tokens[index + 1]?.text === '(' }]
  })
  const words = wordsOf(tokens)
  const noun = nounOf(words)
  return {
    // The escapes of such a name are not read.
    kind: tokens.some((token) => /^u&"/i.test(token.text)) ? 'unknown' : kindOf(words, noun, tokens),
    isRedefining: noun === 'function' || noun === 'procedure' || words.includes('rename') || isMoving(words),
    isInserting: words.includes('insert') || words.includes('merge'),
    names: [...new Set(named.map(({ name }) => name))],
    calls: [...new Set(named.flatMap(({ name, isCall }) => (isCall ? [name] : [])))],
  }
}

function kindOf(words: readonly string[], noun: string, tokens: readonly SqlToken[]): Effect['kind'] {
  const [first = ''] = words
  // After it a backslash ends no string, and what follows is not what it seems here.
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

/** What a `create`, `alter` or `drop` is about. */
function nounOf([, ...rest]: readonly string[]): string {
  return rest.find((word) => !qualifiers.has(word)) ?? ''
}

function isMoving(words: readonly string[]): boolean {
  return words.some((word, index) => word === 'set' && words[index + 1] === 'schema')
}

/** Whether the table is made of what `as` says outside of its columns. */
function isOfQuery(tokens: readonly SqlToken[]): boolean {
  let depth = 0
  return tokens.some(({ kind, text }) => {
    if (text === '(') depth += 1
    if (text === ')') depth -= 1
    return kind === 'word' && depth === 0 && text.toLowerCase() === 'as'
  })
}

/** Of SQL unless its languages say otherwise; each mention counts, as one may stand in the text of a default. */
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

/** A word or a name in quotes, as PostgreSQL folds it. */
function nameOf({ kind, text }: SqlToken): string | undefined {
  if (kind === 'word') return text.toLowerCase()
  return kind === 'string' && text.startsWith('"') ? text.slice(1, -1).replaceAll('""', '"') : undefined
}
