import { useState } from 'react'
import { client } from '../../api/client.ts'
import { inSession, useAction, useApi } from '../../api/queries.ts'
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx'
import { Checkbox, Select } from '../../ui/field.tsx'
import { countOf } from '../../ui/format.ts'
import { Notice } from '../../ui/layout.tsx'
import { Loaded } from '../../ui/states.tsx'
import { showToast } from '../../ui/toasts.ts'
import { applyChanges, countRows, readRows, type TableInfo, type TableRow } from './api.ts'
import { type PlannedOperation, planOperations, type Value } from './changes.ts'
import { faultOf, isComputed } from './kinds.ts'
import { idOf, nameText } from './names.ts'
import { lostByUndo, undoAction } from './undo.ts'
import { FormValue } from './value-editor.tsx'

/** Number of operations that one request accepts. They can be undone. More rows are written by one statement, which cannot. */
const undoable = 1000

interface BulkDialogProps {
  readonly info: TableInfo
  readonly kind: 'update' | 'delete'
  readonly filter: string
  readonly onDone: () => void
  readonly onClose: () => void
}

/** Changes every row that matches the filter of the view, loaded or not. */
export function BulkDialog({ info, kind, filter, onDone, onClose }: BulkDialogProps) {
  const columns = info.columns.filter((column) => !isComputed(column))
  const [name, setName] = useState(columns[0]?.name ?? '')
  const [text, setText] = useState('')
  const [isNull, setNull] = useState(false)
  const column = columns.find((each) => each.name === name)
  const value = isNull ? null : text
  const count = useApi(['tables', info.table, 'count', filter, 'all'], (signal) =>
    countRows(info.table, { filter }, signal),
  )
  const expect = count.data?.count
  const action = useAction(
    async () => {
      if (expect === undefined) return
      const values = kind === 'update' ? { [name]: value } : undefined
      if (expect > undoable || info.primaryKey.length === 0) await writeByFilter(info, filter, expect, values)
      else await writeRows(info, filter, expect, values, onDone)
    },
    {
      onDone: () => {
        onDone()
        onClose()
      },
      failure: 'view',
    },
  )
  const fault = kind === 'update' && column !== undefined ? faultOf(column, value) : undefined
  const rows = expect === undefined ? 'rows' : countOf(expect, 'row')
  return (
    <ConfirmDialog
      title={kind === 'delete' ? 'Delete rows' : 'Change rows'}
      action={kind === 'delete' ? `Delete ${rows}` : `Change ${rows}`}
      isDangerous={kind === 'delete'}
      isDisabled={expect === 0}
      isPending={action.isPending || expect === undefined}
      name={filter === '' && (expect ?? 0) > 0 ? info.name : undefined}
      error={action.error ?? (fault === undefined ? null : new Error(fault))}
      onConfirm={() => {
        if (fault === undefined) action.run()
      }}
      onClose={onClose}
    >
      <Loaded query={count}>
        {(counted) => (
          <>
            <p>
              {filter === ''
                ? `All ${countOf(counted.count, 'row')} of ${info.table}.`
                : `${countOf(counted.count, 'row')} matching `}
              {filter !== '' && <code>{filter}</code>}
            </p>
            {counted.count > undoable && (
              <Notice tone="warning">
                This cannot be undone. Undo is limited to {countOf(undoable, 'change')}.
              </Notice>
            )}
            {kind === 'delete' && counted.count <= undoable && <p>{lostByUndo(info)}</p>}
          </>
        )}
      </Loaded>
      {kind === 'update' && (
        <>
          <Select
            label="Column"
            value={name}
            choices={columns.map((each) => ({ value: each.name, label: each.name }))}
            onChange={setName}
          />
          {column !== undefined && !isNull && (
            <FormValue
              label="New value"
              column={column}
              text={text}
              empty="Select a value"
              onChange={setText}
            />
          )}
          {column?.nullable === true && <Checkbox label="NULL" checked={isNull} onChange={setNull} />}
        </>
      )}
    </ConfirmDialog>
  )
}

type Values = Readonly<Record<string, Value>>

/** Writes with one statement, if the number of matching rows is the counted one. */
async function writeByFilter(info: TableInfo, filter: string, expect: number, values: Values | undefined) {
  const query = new URLSearchParams({
    filter: filter === '' ? everyRow(info) : filter,
    expect: String(expect),
  })
  await inSession(() =>
    client.transport.write(
      values === undefined ? 'DELETE' : 'PATCH',
      `collections/${encodeURIComponent(info.table)}`,
      { query: Object.fromEntries(query), body: values },
    ),
  )
  showToast(`${countOf(expect, 'row')} ${values === undefined ? 'deleted' : 'changed'}.`)
}

/** Returns a filter that matches every row. A write by filter requires one. */
function everyRow({ columns, primaryKey }: TableInfo): string {
  const name = nameText(primaryKey[0] ?? columns[0]?.name ?? '')
  return `${name} = null or ${name} != null`
}

/** Writes row by row in one transaction, each row only as it was counted. */
async function writeRows(
  info: TableInfo,
  filter: string,
  expect: number,
  values: Values | undefined,
  onDone: () => void,
) {
  const rows = await readKeys(info, filter, expect)
  const types = new Map(info.columns.map(({ name, type }) => [name, type]))
  const changes = new Map(
    rows.map((row) => [idOf(row.key ?? []), { row, values: values ?? {}, isDeleted: values === undefined }]),
  )
  const planned: PlannedOperation[] = planOperations({ rows: changes, created: [] }, types)
  if (planned.length === 0) return
  const written = await inSession(() =>
    applyChanges(
      info.table,
      planned.map(({ operation }) => operation),
    ),
  )
  const undo = undoAction(info, planned, written, onDone)
  showToast(`${countOf(rows.length, 'row')} ${values === undefined ? 'deleted' : 'changed'}.`, 'done', undo)
}

async function readKeys(info: TableInfo, filter: string, expect: number): Promise<TableRow[]> {
  const columns = info.primaryKey.map(nameText).join()
  const rows: TableRow[] = []
  let after: string | undefined
  do {
    const page = await inSession(() => readRows(info.table, { filter, columns, limit: 500, after }))
    rows.push(...page.rows)
    after = page.after ?? undefined
  } while (after !== undefined && rows.length <= expect)
  if (rows.length !== expect)
    throw new Error(`There are ${countOf(rows.length, 'row')} now. Open this dialog again to confirm.`)
  return rows
}
