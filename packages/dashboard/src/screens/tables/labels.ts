import { useQueries } from '@tanstack/react-query'
import { useMemo } from 'react'
import { type Name, readMissing } from '../../api/names.ts'
import { inSession, queryClient } from '../../api/queries.ts'
import { useUserNames } from '../../api/user-names.ts'
import { describeTable, type RelationInfo, readRows, type TableInfo, type TableRow } from './api.ts'
import { type Changes, noChanges, type Value } from './changes.ts'
import { referenceOf } from './kinds.ts'
import { formatOneOf, idOf, keyOfId, nameText } from './names.ts'

/** Labels of the users or rows that a column refers to, by the id of the values of these columns. */
interface ColumnLabels {
  readonly columns: readonly string[]
  readonly names: ReadonlyMap<string, Name>
}

/** Labels by column. A reference with several columns has its label in the last one. */
export type Labels = ReadonlyMap<string, ColumnLabels>

/** Returns the value of a column in one row. */
type ValueAt = (column: string) => Value

const noLabels: Labels = new Map()

/** Maximum number of keys in one request, and maximum length of their filter in characters. */
const mostKeys = 100
const mostCharacters = 4000

/** Returns the label of the user or row that a column refers to. */
export function labelAt(labels: Labels, column: string, valueAt: ValueAt): string | undefined {
  const { columns = [], names } = labels.get(column) ?? {}
  const id = idAt(columns, valueAt)
  return id === undefined ? undefined : (names?.get(id) ?? undefined)
}

/** Returns the id of the values of a reference; undefined if one of them is missing. */
function idAt(columns: readonly string[], valueAt: ValueAt): string | undefined {
  const values = columns.map(valueAt)
  return values.every((value) => typeof value === 'string') ? idOf(values) : undefined
}

/** Reads the labels of a page of rows: one request for users, and one for each table that its columns reference. */
export function useLabels(
  info: TableInfo,
  rows: readonly TableRow[] | undefined,
  { isOn, changes = noChanges }: { readonly isOn: boolean; readonly changes?: Changes },
): Labels {
  const { people, references } = useMemo(() => listReferences(info), [info])
  const ids = useMemo(
    () => idsOf(info, rows ?? [], changes, people, references),
    [info, rows, changes, people, references],
  )
  const names = useUserNames(ids.people, isOn)
  const labelled = useQueries({
    queries: references.map((relation, index) => {
      const keys = ids.references[index] ?? []
      return {
        queryKey: ['tables', relation.table, 'labels', targetsOf(relation), keys],
        queryFn: ({ signal }: { readonly signal: AbortSignal }) =>
          inSession(
            () => readMissing(keys, keyOf(relation), (missing) => readLabels(relation, missing, signal)),
            signal,
          ),
        enabled: isOn && keys.length > 0,
      }
    }),
    combine: dataOf,
  })
  return useMemo(() => {
    if (!isOn) return noLabels
    const found = references.map((relation, index) => [sourcesOf(relation), labelled[index]] as const)
    return new Map<string, ColumnLabels>([
      ...people.map((name) => [name, { columns: [name], names }] as const),
      ...found.flatMap(([columns, labels]) =>
        labels === undefined ? [] : [[columns.at(-1) ?? '', { columns, names: labels }] as const],
      ),
    ])
  }, [isOn, people, references, names, labelled])
}

const dataOf = <Data>(results: readonly { readonly data: Data }[]) => results.map(({ data }) => data)

const sourcesOf = ({ pairs }: RelationInfo) => pairs.map(({ from }) => from)
const targetsOf = ({ pairs }: RelationInfo) => pairs.map(({ to }) => to)

/** Returns the query key of a label of the referenced table. */
const keyOf = (relation: RelationInfo) => (id: string) =>
  ['tables', relation.table, 'label', targetsOf(relation), id] as const

/** Returns the columns with users, and the relations of the other columns that show the label of a row. */
function listReferences(info: TableInfo) {
  const others = info.columns.filter(({ name }) => !info.people.includes(name))
  const references = others.flatMap(({ name }) => referenceOf(info, name) ?? [])
  return { people: info.people, references }
}

/** Returns the distinct ids of the references, as they were read and as they are staged. */
function idsOf(
  info: TableInfo,
  rows: readonly TableRow[],
  { rows: changed, created }: Changes,
  people: readonly string[],
  references: readonly RelationInfo[],
) {
  const positions = new Map(info.columns.map(({ name }, position) => [name, position]))
  const read = ({ cells }: TableRow, name: string) => cells[positions.get(name) ?? -1]
  const readers: ValueAt[] = [
    ...rows.map((row) => (name: string) => read(row, name)),
    ...[...changed.values()].map(({ row, values }) => (name: string) => {
      const staged = values[name]
      return staged === undefined ? read(row, name) : staged
    }),
    ...created.map(
      ({ values }) =>
        (name: string) =>
          values[name],
    ),
  ]
  const idsAt = (columns: readonly string[]) =>
    [...new Set(readers.flatMap((valueAt) => idAt(columns, valueAt) ?? []))].toSorted()
  return {
    people: [...new Set(people.flatMap((name) => idsAt([name])))].toSorted(),
    references: references.map((relation) => idsAt(sourcesOf(relation))),
  }
}

/** Reads the labels of rows by their ids; empty for a table without a better label than its key. */
async function readLabels(
  relation: RelationInfo,
  ids: readonly string[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Name>> {
  const { table } = relation
  const key = targetsOf(relation)
  const { label } = await queryClient.fetchQuery({
    queryKey: ['tables', table, 'info'],
    queryFn: () => describeTable(table, signal),
    staleTime: 60_000,
  })
  const labels = new Map<string, Name>()
  if (label === null || key.includes(label)) return labels
  const columns = [...key, label].map(nameText).join()
  const keys = ids.map((id) => keyOfId(id, key))
  for (const filter of filtersOf(key, keys)) {
    const { rows } = await readRows(table, { columns, filter, limit: mostKeys }, signal)
    for (const { cells } of rows) {
      const id = idAt(key, (name) => cells[key.indexOf(name)])
      if (id !== undefined) labels.set(id, cells[key.length] ?? null)
    }
  }
  return labels
}

/** Returns filters that find the keys, each for one request. */
function filtersOf(columns: readonly string[], keys: readonly (readonly string[])[]): string[] {
  const filter = formatOneOf(columns, keys)
  const isShort = keys.length <= mostKeys && filter.length <= mostCharacters
  if (isShort || keys.length === 1) return [filter]
  const half = Math.ceil(keys.length / 2)
  return [...filtersOf(columns, keys.slice(0, half)), ...filtersOf(columns, keys.slice(half))]
}
