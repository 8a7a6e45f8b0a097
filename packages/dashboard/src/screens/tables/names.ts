import { decodeSegment } from '../../path-segment.ts'

/** Column names in API parameters, such as `-"A B",c`. Pure. */

/** Quotes a name unless it is a plain name. */
export function nameText(name: string): string {
  return /^[a-z_][a-z0-9_]*$/.test(name) && !reserved.has(name) ? name : `"${name.replaceAll('"', '""')}"`
}

/** Keywords of the filter grammar. */
const reserved = new Set(
  'and or not in is null true false between contains overlaps adjacent matches like ilike'.split(' '),
)

export interface SortTerm {
  /** Name of the column, or the names of a path joined by dots. */
  readonly key: string
  /** Names of relations to one record, and of a column of the last one. Undefined for a column of the table. */
  readonly path?: readonly string[]
  readonly isDescending: boolean
}

export function formatSort(terms: readonly SortTerm[]): string {
  return terms
    .map(({ key, path = [key], isDescending }) => `${isDescending ? '-' : ''}${path.map(nameText).join('.')}`)
    .join()
}

/** Parses a sort. Returns an empty list for anything else. */
export function parseSort(text: string): SortTerm[] {
  const terms: SortTerm[] = []
  const term = /\s*([-+]?)((?:"(?:[^"]|"")+"|[^",.]+)(?:\.(?:"(?:[^"]|"")+"|[^",.]+))*)(?:,|$)/g
  for (const [, sign, names = ''] of text.matchAll(term)) {
    const path = [...names.matchAll(/"((?:[^"]|"")+)"|[^".]+/g)].map(
      ([bare, quoted]) => quoted?.replaceAll('""', '"') ?? bare.trim(),
    )
    if (path.includes('')) continue
    const related = path.length > 1 ? { path } : {}
    terms.push({ key: path.join('.'), ...related, isDescending: sign === '-' })
  }
  return terms
}

/** Returns the sort after a press on a header: ascending, descending, none. @param isAdded true to keep the other columns */
export function toggleSort(terms: readonly SortTerm[], key: string, isAdded: boolean): SortTerm[] {
  const current = terms.find((term) => term.key === key)
  const next: SortTerm[] =
    current === undefined
      ? [{ key, isDescending: false }]
      : current.isDescending
        ? []
        : [{ key, isDescending: true }]
  if (!isAdded) return next
  return current === undefined
    ? [...terms, ...next]
    : terms.flatMap((term) => (term === current ? next : [term]))
}

/** Quotes a value for a filter. */
const filterText = (value: string) => `'${value.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`

export type Test =
  | ('=' | '!=' | '<' | '<=' | '>' | '>=')
  | ('contains' | 'starts' | 'has' | 'overlaps' | 'null' | 'not null')

/** Formats a condition of the filter builder. */
export function formatCondition(column: string, test: Test, value: string): string {
  const name = nameText(column)
  switch (test) {
    case 'null':
      return `${name} = null`
    case 'not null':
      return `${name} != null`
    case 'contains':
      return `${name} ~* ${filterText(`%${escapeLike(value)}%`)}`
    case 'starts':
      return `${name} ~* ${filterText(`${escapeLike(value)}%`)}`
    case 'has':
      return `${name} contains ${filterText(value)}`
    default:
      return `${name} ${test} ${filterText(value)}`
  }
}

/** Formats a condition that the columns have the values of one of the keys. Keys with an equal start share its condition. */
export function formatOneOf(columns: readonly string[], keys: readonly (readonly string[])[]): string {
  const first = columns.slice(0, -1)
  const groups = Map.groupBy(keys, (key) => idOf(key.slice(0, -1)))
  const terms = [...groups.values()].map((group) => {
    const values = group.map((key) => filterText(key.at(-1) ?? '')).join()
    const shared = first.map((name, index) => formatCondition(name, '=', group[0]?.[index] ?? ''))
    return [...shared, `${nameText(columns.at(-1) ?? '')} in (${values})`].join(' and ')
  })
  return terms.length === 1 ? terms.join() : terms.map((term) => `(${term})`).join(' or ')
}

const escapeLike = (text: string) => text.replace(/[\\%_]/g, (character) => `\\${character}`)

/** Combines a filter with a condition. Both have to match. */
export const andFilter = (filter: string, condition: string) =>
  filter.trim() === ''
    ? condition
    : `${/\bor\b|\|\|/i.test(filter) ? `(${filter})` : filter} and ${condition}`

/** Returns a filter for rows whose columns have these values. */
export const equalFilter = (pairs: readonly (readonly [string, string | null])[]) =>
  pairs
    .map(([name, value]) =>
      value === null ? formatCondition(name, 'null', '') : formatCondition(name, '=', value),
    )
    .join(' and ')

/** Returns the id of a row in requests and URLs. The values of a composite key are joined by commas. */
export function idOf(key: readonly string[]): string {
  const [single, ...others] = key
  if (single === undefined) return ''
  return others.length === 0 ? single : key.map(encodeURIComponent).join()
}

/** Returns the id of a record, or undefined if the record does not contain the whole key. */
export function idOfRecord(
  { primaryKey }: { readonly primaryKey: readonly string[] },
  record: Readonly<Record<string, unknown>>,
): string | undefined {
  const key = primaryKey.map((name) => record[name])
  return key.length === 0 || key.some((value) => value === undefined) ? undefined : idOf(key.map(String))
}

/** Returns the values of an {@link idOf} with these columns. */
export const keyOfId = (id: string, { length }: readonly string[]): readonly string[] =>
  length > 1 ? id.split(',').map(decodeSegment) : [id]

/** Formats an {@link idOf} for display: `7, a/b`. */
export const idText = (id: string, primaryKey: readonly string[]): string =>
  keyOfId(id, primaryKey).join(', ')
