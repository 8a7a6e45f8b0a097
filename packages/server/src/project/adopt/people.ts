import type { Column, Relation } from '../../database/catalog/model.ts'
import { quoteIdentifier, quoteLiteral } from '../../database/sql.ts'
import { OperatorError } from '../../lib/errors.ts'
import { suggestion } from '../../lib/suggestion.ts'
import { isTable, quoted } from './names.ts'

/** Table of people, and the way in which a caller is found there. */
export interface People {
  readonly table: Relation
  /** Columns that identify a person. */
  readonly key: readonly Column[]
  /** Undefined with a function that exists already, unless `--match` says how the trial finds two people. */
  readonly match: Match | undefined
  readonly function: PersonFunction
}

/** Comparison of a column with the caller. */
export interface Match {
  readonly by: 'id' | 'email' | 'claim'
  /** Name of the claim; undefined for the others. */
  readonly claim: string | undefined
  readonly column: Column
}

/** Function that returns the caller's person. */
export interface PersonFunction {
  readonly schema: string
  readonly name: string
  /** True if the database has it already. */
  readonly exists: boolean
}

/** Claims of access tokens that a column can be compared with, as texts. */
const claims = ['sub']

/** Returns the columns that identify a person. @throws OperatorError */
export function keyOf(table: Relation): readonly Column[] {
  if (!isTable(table)) {
    throw new OperatorError(
      `--people: ${table.collection} is a ${table.kind.replaceAll('_', ' ')}, not a table`,
      {
        exitCode: 2,
      },
    )
  }
  if (table.rowKey.length > 0) return table.rowKey
  throw new OperatorError(
    `--people: ${table.collection} has no primary key and no unique key without NULLs, so nothing can refer to a person`,
  )
}

/**
 * Parses `--match`: `id=COLUMN`, `email=COLUMN` or `claim:NAME=COLUMN`.
 *
 * @throws OperatorError
 */
export function parseMatch(table: Relation, text: string): Match {
  const [, by, claim, name = ''] = /^(id|email|claim:([^=]*))=(.+)$/s.exec(text) ?? []
  if (by === undefined) {
    throw new OperatorError(
      `--match: expected id=COLUMN, email=COLUMN or claim:NAME=COLUMN, not ${JSON.stringify(text)}`,
      { exitCode: 2 },
    )
  }
  if (claim !== undefined && !claims.includes(claim)) {
    const hint =
      claim === 'email'
        ? 'email=COLUMN compares the address once it is verified'
        : `tokens have ${claims.join(', ')}`
    throw new OperatorError(`--match: the claim ${JSON.stringify(claim)} identifies no one; ${hint}`, {
      exitCode: 2,
    })
  }
  const column = table.column.get(name)
  if (column === undefined) {
    throw new OperatorError(
      `--match: ${table.collection} has no column ${JSON.stringify(name)}${suggestion(name, [...table.column.keys()])}`,
      { exitCode: 2 },
    )
  }
  const { isText, base } = column.type
  if (by === 'id' ? base !== 'uuid' && !isText : !isText) {
    const expected = by === 'id' ? 'uuid or a text' : 'a text'
    throw new OperatorError(
      `--match: ${table.collection}.${name} is ${column.typeName}, expected ${expected}`,
      {
        exitCode: 2,
      },
    )
  }
  return { by: claim === undefined ? (by as 'id' | 'email') : 'claim', claim, column }
}

/** Formats a match as `--match` expects it. */
export function writeMatch({
  by,
  claim,
  column,
}: Pick<Match, 'by' | 'claim'> & { column: { name: string } }): string {
  return `${by === 'claim' ? `claim:${claim}` : by}=${column.name}`
}

/** Describes a match for people. */
export function describeMatch({ table }: Pick<People, 'table'>, { by, claim, column }: Match): string {
  const caller = {
    id: 'the id of the account',
    email: 'the verified address of the account',
    claim: `the claim ${claim}`,
  }[by]
  return `${table.collection}.${column.name} is ${caller}`
}

/** Lists the ways in which a caller can be found in the table, the most likely first. */
export function listMatches(table: Relation): Match[] {
  const texts = table.columns.filter(({ type }) => type.isText)
  const emails = texts.filter(({ name }) => /e-?mail/i.test(name))
  const ids = table.columns.filter(
    ({ name, type }) =>
      type.base === 'uuid' || (type.isText && /^(auth|user|account|external)_?(id|sub|uid)$/i.test(name)),
  )
  return [
    ...ids.map((column): Match => ({ by: 'id', claim: undefined, column })),
    ...emails.map((column): Match => ({ by: 'email', claim: undefined, column })),
  ]
}

/** Names of tables that usually hold people, in the singular. Those of the second list are often also served. */
const usualNames = /^(user|person|people|customer|client|member|account|profile)s?$/i
const otherNames = /^(employee|staff|student|patient|contact|subscriber|guest|author)s?$/i

/** Lists the tables that may hold people, the most likely first. @param reached number of tables that lead to each */
export function listCandidates(
  tables: readonly Relation[],
  reached: (table: Relation) => number,
): Relation[] {
  const score = (table: Relation) => {
    const byName = usualNames.test(table.name) ? 150 : otherNames.test(table.name) ? 100 : 0
    return byName + (listMatches(table).length > 0 ? 200 : 0) + Math.min(reached(table), 40)
  }
  return tables
    .filter((table) => isTable(table) && table.rowKey.length > 0)
    .toSorted((one, other) => score(other) - score(one) || (one.collection < other.collection ? -1 : 1))
}

/** Writes the expression of the match over the row `p`, in a function without a search path. */
function compare({ by, claim, column }: Match): string {
  const value = `p.${quoteIdentifier(column.name)}`
  if (by === 'email') return `lower(${value}::text) = basalt.user_email() and basalt.email_verified()`
  if (by === 'claim') return `${value}::text = basalt.claims() ->> ${quoteLiteral(claim ?? '').trim()}`
  return column.type.base === 'uuid'
    ? `${value} = basalt.user_id()`
    : `${value}::text = basalt.user_id()::text`
}

/** Writes the function, without a semicolon. It returns NULL, or no row, unless exactly one person matches. */
export function writeFunction({
  table,
  key,
  match,
  function: own,
}: People & { readonly match: Match }): string {
  const values = key.map(({ name }) => `(array_agg(p.${quoteIdentifier(name)}))[1]`).join(', ')
  const body = [
    '',
    `  select ${values}`,
    `  from ${quoted(table)} p`,
    `  where ${compare(match)}`,
    '  having count(*) = 1',
    '',
  ].join('\n')
  const [single] = key
  const returns =
    key.length === 1 && single !== undefined
      ? single.typeName
      : `table (${key.map(({ name, typeName }) => `${quoteIdentifier(name)} ${typeName}`).join(', ')})`
  return [
    `create function ${quoted(own)}() returns ${returns}`,
    "language sql stable parallel safe security definer set search_path = ''",
    `as ${body.includes('$$') ? quoteLiteral(body).trim() : `$$${body}$$`}`,
  ].join('\n')
}
