import { useQueries } from '@tanstack/react-query'
import { useMemo } from 'react'
import { type Name, readMissing } from '../../api/names.ts'
import { inSession, queryClient } from '../../api/queries.ts'
import { useUserNames } from '../../api/user-names.ts'
import { describeTable, type RelationInfo, readRows, type TableInfo, type TableRow } from './api.ts'
import { type Changes, noChanges } from './changes.ts'
import { referenceOf } from './kinds.ts'
import { formatOneOf, nameText } from './names.ts'

/** Labels of the users and rows that cells refer to, by column and text of the cell. */
export type Labels = ReadonlyMap<string, ReadonlyMap<string, Name>>

export const noLabels: Labels = new Map()

/** Maximum number of keys in one request, and maximum length of their filter in characters. */
const mostKeys = 100
const mostCharacters = 4000

/** Reads the labels of a page of rows: one request for users, and one for each table that its columns reference. */
export function useLabels(
  info: TableInfo,
  rows: readonly TableRow[] | undefined,
  { isOn, changes = noChanges }: { readonly isOn: boolean; readonly changes?: Changes },
): Labels {
  const { people, references } = useMemo(() => listReferences(info), [info])
  const texts = useMemo(
    () => textsOf(info, rows ?? [], changes, [...people, ...references.keys()]),
    [info, rows, changes, people, references],
  )
  const ids = useMemo(
    () => [...new Set(people.flatMap((name) => texts.get(name) ?? []))].toSorted(),
    [people, texts],
  )
  const names = useUserNames(ids, isOn)
  const labelled = useQueries({
    queries: [...references].map(([name, relation]) => {
      const keys = texts.get(name) ?? []
      return {
        queryKey: ['tables', relation.table, 'labels', relation.pairs[0]?.to, keys],
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
    const found = [...references.keys()].map((name, index) => [name, labelled[index]] as const)
    return new Map([
      ...people.map((name) => [name, names] as const),
      ...found.flatMap(([name, labels]) => (labels === undefined ? [] : [[name, labels] as const])),
    ])
  }, [isOn, people, references, names, labelled])
}

const dataOf = <Data>(results: readonly { readonly data: Data }[]) => results.map(({ data }) => data)

/** Returns the query key of a label of the referenced table. */
const keyOf =
  ({ table, pairs }: RelationInfo) =>
  (key: string) =>
    ['tables', table, 'label', pairs[0]?.to, key] as const

/** Returns the columns with users, and the relations of the other columns that reference a row. */
function listReferences(info: TableInfo) {
  const references = info.columns.flatMap(({ name }) => {
    const relation = info.people.includes(name) ? undefined : referenceOf(info, name)
    return relation === undefined ? [] : [[name, relation] as const]
  })
  return { people: info.people, references: new Map<string, RelationInfo>(references) }
}

/** Returns the distinct texts of the columns, as they were read and as they are staged. */
function textsOf(
  { columns }: TableInfo,
  rows: readonly TableRow[],
  { rows: changed, created }: Changes,
  names: readonly string[],
): ReadonlyMap<string, readonly string[]> {
  const staged = [...changed.values(), ...created].map(({ values }) => values)
  return new Map(
    names.map((name) => {
      const index = columns.findIndex((column) => column.name === name)
      const texts = [...rows.map(({ cells }) => cells[index]), ...staged.map((values) => values[name])]
      return [name, [...new Set(texts)].filter((text) => typeof text === 'string').toSorted()] as const
    }),
  )
}

/** Reads the labels of rows by their keys; empty for a table without a better label than its key. */
async function readLabels(
  { table, pairs }: RelationInfo,
  keys: readonly string[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Name>> {
  const [{ to = '' } = {}] = pairs
  const { label } = await queryClient.fetchQuery({
    queryKey: ['tables', table, 'info'],
    queryFn: () => describeTable(table, signal),
    staleTime: 60_000,
  })
  const labels = new Map<string, Name>()
  if (label === null || label === to) return labels
  for (const some of splitKeys(keys)) {
    const { rows } = await readRows(
      table,
      { columns: [to, label].map(nameText).join(), filter: formatOneOf(to, some), limit: mostKeys },
      signal,
    )
    for (const { cells } of rows) labels.set(cells[0] ?? '', cells[1] ?? null)
  }
  return labels
}

function splitKeys(keys: readonly string[]): string[][] {
  const parts: string[][] = []
  let length = 0
  for (const key of keys) {
    const part = parts.at(-1)
    length += key.length + 4
    if (part !== undefined && part.length < mostKeys && length <= mostCharacters) part.push(key)
    else {
      parts.push([key])
      length = key.length + 4
    }
  }
  return parts
}
