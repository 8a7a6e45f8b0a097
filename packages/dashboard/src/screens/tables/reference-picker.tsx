import { rememberUserName } from '../../api/user-names.ts'
import { findUsers } from '../users/api.ts'
import { type ColumnInfo, describeTable, type RelationInfo, readRows, type TableInfo } from './api.ts'
import { referenceOf } from './kinds.ts'
import { formatCondition, nameText } from './names.ts'
import { type Choices, PickerDialog } from './picker-dialog.tsx'

const offered = 30

/** Values by column. A reference with a composite key has several columns. */
export type PickedValues = Readonly<Record<string, string | null>>

interface ReferencePickerProps {
  readonly info: TableInfo
  readonly column: ColumnInfo
  readonly value: string | null
  /** Called with the values of the columns that identify the picked user or row. */
  readonly onPick: (values: PickedValues) => void
  readonly onClose: () => void
}

/** Selects the user or the row that a column references. Renders nothing for other columns. */
export function ReferencePicker({ info, onPick, ...props }: ReferencePickerProps) {
  const { name } = props.column
  if (info.people.includes(name)) {
    const pick = (values: readonly string[] | null, label: string | null) => {
      const [id = null] = values ?? []
      if (id !== null) rememberUserName(id, label)
      onPick({ [name]: id })
    }
    return <PickerDialog {...props} source="users" search={searchUsers} onPick={pick} />
  }
  const relation = relationOf(info, name)
  if (relation === undefined) return null
  const pick = (values: readonly string[] | null) => {
    const pairs = relation.pairs.map(({ from }, index) => [from, values?.[index] ?? null] as const)
    const isNullable = (from: string) => info.columns.some((each) => each.name === from && each.nullable)
    onPick(Object.fromEntries(pairs.filter(([from, value]) => value !== null || isNullable(from))))
  }
  const search = (text: string, signal: AbortSignal) => searchRows(relation, text, signal)
  return <PickerDialog {...props} source={relation.table} search={search} onPick={pick} />
}

/** Returns the relation of a foreign key with the column. One of this column alone comes first. */
function relationOf(info: TableInfo, column: string): RelationInfo | undefined {
  const isOf = ({ kind, pairs }: RelationInfo) =>
    kind === 'many-to-one' && pairs.some(({ from }) => from === column)
  return referenceOf(info, column) ?? info.relations.find(isOf)
}

/** Returns the name of the users or rows that a column references; undefined for other columns. */
export function sourceOf(info: TableInfo, column: string): string | undefined {
  return info.people.includes(column) ? 'users' : relationOf(info, column)?.table
}

async function searchUsers(text: string, signal: AbortSignal): Promise<Choices> {
  const users = await findUsers(text.trim(), signal)
  const rows = users
    .slice(0, offered)
    .map((user) => ({ values: [user.id], text: user.email || user.phone || null }))
  return { key: 'id', label: 'user', rows }
}

async function searchRows(
  { table, pairs }: RelationInfo,
  text: string,
  signal: AbortSignal,
): Promise<Choices> {
  const keys = pairs.map(({ to }) => to)
  const info = await describeTable(table, signal)
  const label = info.label ?? keys.at(-1) ?? ''
  const names = [...new Set([...keys, label])]
  const filter = searchFilter(info, keys, label, text)
  const columns = names.map(nameText).join()
  const { rows } = await readRows(table, { columns, limit: offered, filter }, signal)
  return {
    key: keys.join(', '),
    label,
    rows: rows.flatMap(({ cells }) => {
      const values = cells.slice(0, keys.length)
      // A foreign key references no row with a NULL in its key.
      if (!values.every((value) => value !== null)) return []
      return [{ values, text: cells[names.indexOf(label)] ?? null }]
    }),
  }
}

/** Returns a filter by a part of the label, and by the columns of the key whose value the text can be. */
function searchFilter(
  info: TableInfo,
  keys: readonly string[],
  label: string,
  search: string,
): string | undefined {
  const text = search.trim()
  if (text === '') return undefined
  const canBe = (key: string) => {
    const type = info.columns.find(({ name }) => name === key)?.type ?? 'text'
    return /int|serial/.test(type) ? /^-?\d{1,18}$/.test(text) : type === 'uuid' ? isUuid(text) : true
  }
  const byLabel = keys.includes(label) ? [] : [formatCondition(label, 'contains', text)]
  const terms = [...byLabel, ...keys.filter(canBe).map((key) => formatCondition(key, '=', text))]
  return terms.length === 0 ? formatCondition(label, 'null', '') : terms.join(' or ')
}

const isUuid = (text: string) => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text)
