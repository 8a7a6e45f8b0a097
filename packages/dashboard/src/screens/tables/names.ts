import { decodeSegment } from '../../path-segment.ts'

/** Names of columns as parameters of the API have them: `-"A B",c`. Pure. */

/** In quotes where it is not a plain name. */
export function nameText(name: string): string {
  return /^[a-z_][a-z0-9_]*$/.test(name) && !reserved.has(name) ? name : `"${name.replaceAll('"', '""')}"`
}

/** Words of the filter grammar. */
const reserved = new Set(
  'and or not in is null true false between contains overlaps adjacent matches like ilike'.split(' '),
)

export interface SortTerm {
  readonly key: string
  readonly isDescending: boolean
}

export function formatSort(terms: readonly SortTerm[]): string {
  return terms.map(({ key, isDescending }) => `${isDescending ? '-' : ''}${nameText(key)}`).join()
}

/** Undefined for what is no sort by columns. */
export function parseSort(text: string): SortTerm[] {
  const terms: SortTerm[] = []
  for (const [, sign, quoted, bare] of text.matchAll(/([-+]?)(?:"((?:[^"]|"")+)"|([^",]+))(?:,|$)/g)) {
    const key = quoted?.replaceAll('""', '"') ?? bare?.trim()
    if (key !== undefined && key !== '') terms.push({ key, isDescending: sign === '-' })
  }
  return terms
}

/** The sort after a press on a header: ascending, descending, none. @param isAdded keeps the other columns */
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

/** A value in a filter. */
const filterText = (value: string) => `'${value.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`

export type Test = '=' | '!=' | '<' | '<=' | '>' | '>=' | 'contains' | 'starts' | 'null' | 'not null'

/** A condition as the builder makes it. */
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
    default:
      return `${name} ${test} ${filterText(value)}`
  }
}

const escapeLike = (text: string) => text.replace(/[\\%_]/g, (character) => `\\${character}`)

/** Both have to hold. */
export const andFilter = (filter: string, condition: string) =>
  filter.trim() === ''
    ? condition
    : `${/\bor\b|\|\|/i.test(filter) ? `(${filter})` : filter} and ${condition}`

/** Rows whose columns have these values. */
export const equalFilter = (pairs: readonly (readonly [string, string | null])[]) =>
  pairs
    .map(([name, value]) =>
      value === null ? formatCondition(name, 'null', '') : formatCondition(name, '=', value),
    )
    .join(' and ')

/** The id of a row in requests and addresses: values of a composite key are joined by commas. */
export function idOf(key: readonly string[]): string {
  const [single, ...others] = key
  if (single === undefined) return ''
  return others.length === 0 ? single : key.map(encodeURIComponent).join()
}

/** Returns the id of a record; undefined where the record does not have the whole key. */
export function idOfRecord(
  { primaryKey }: { readonly primaryKey: readonly string[] },
  record: Readonly<Record<string, unknown>>,
): string | undefined {
  const key = primaryKey.map((name) => record[name])
  return key.length === 0 || key.some((value) => value === undefined) ? undefined : idOf(key.map(String))
}

/** The values of an {@link idOf}, to be read: `7, a/b`. */
export const idText = (id: string, primaryKey: readonly string[]): string =>
  primaryKey.length > 1 ? id.split(',').map(decodeSegment).join(', ') : id
