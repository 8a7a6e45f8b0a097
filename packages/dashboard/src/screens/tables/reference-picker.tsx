import { rememberUserName } from '../../api/user-names.ts'
import { findUsers } from '../users/api.ts'
import { type ColumnInfo, describeTable, type RelationInfo, readRows, type TableInfo } from './api.ts'
import { referenceOf } from './kinds.ts'
import { formatCondition, nameText } from './names.ts'
import { type Choices, PickerDialog } from './picker-dialog.tsx'

const offered = 30

interface ReferencePickerProps {
  readonly info: TableInfo
  readonly column: ColumnInfo
  readonly value: string | null
  readonly onPick: (value: string | null) => void
  readonly onClose: () => void
}

/** Selects the user or the row that a column references. Renders nothing for other columns. */
export function ReferencePicker({ info, onPick, ...props }: ReferencePickerProps) {
  const { name } = props.column
  if (info.people.includes(name)) {
    const pick = (id: string | null, label: string | null) => {
      if (id !== null) rememberUserName(id, label)
      onPick(id)
    }
    return <PickerDialog {...props} source="users" search={searchUsers} onPick={pick} />
  }
  const relation = referenceOf(info, name)
  if (relation === undefined) return null
  const search = (text: string, signal: AbortSignal) => searchRows(relation, text, signal)
  return <PickerDialog {...props} source={relation.table} search={search} onPick={onPick} />
}

/** Returns the name of the users or rows that a column references; undefined for other columns. */
export function sourceOf(info: TableInfo, column: string): string | undefined {
  return info.people.includes(column) ? 'users' : referenceOf(info, column)?.table
}

async function searchUsers(text: string, signal: AbortSignal): Promise<Choices> {
  const users = await findUsers(text.trim(), signal)
  const rows = users
    .slice(0, offered)
    .map((user) => ({ key: user.id, text: user.email || user.phone || null }))
  return { key: 'id', label: 'user', rows }
}

async function searchRows(
  { table, pairs }: RelationInfo,
  text: string,
  signal: AbortSignal,
): Promise<Choices> {
  const [{ to = '' } = {}] = pairs
  const info = await describeTable(table, signal)
  const label = info.label ?? to
  const columns = [...new Set([to, label])].map(nameText).join()
  const filter = searchFilter(info, to, label, text)
  const page = await readRows(table, { columns, limit: offered, filter }, signal)
  return {
    key: to,
    label,
    rows: page.rows.map(({ cells }) => ({ key: cells[0] ?? '', text: cells.at(-1) ?? null })),
  }
}

/** Returns a filter by a part of the label, and by the key if the text can be one. */
function searchFilter(info: TableInfo, key: string, label: string, search: string): string | undefined {
  const text = search.trim()
  if (text === '') return undefined
  const type = info.columns.find(({ name }) => name === key)?.type ?? 'text'
  const byLabel = label === key ? [] : [formatCondition(label, 'contains', text)]
  const isKey = /int|serial/.test(type) ? /^-?\d{1,18}$/.test(text) : type === 'uuid' ? isUuid(text) : true
  const byKey = isKey ? [formatCondition(key, '=', text)] : []
  const terms = [...byLabel, ...byKey]
  return terms.length === 0 ? formatCondition(key, 'null', '') : terms.join(' or ')
}

const isUuid = (text: string) => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text)
