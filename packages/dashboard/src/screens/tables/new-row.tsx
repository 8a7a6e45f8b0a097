import { useState } from 'react'
import { Button } from '../../ui/button.tsx'
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx'
import { Checkbox } from '../../ui/field.tsx'
import { Form } from '../../ui/layout.tsx'
import { SidePanel } from '../../ui/side-panel.tsx'
import type { ColumnInfo, TableInfo } from './api.ts'
import type { Value } from './changes.ts'
import { faultOf, isComputed } from './kinds.ts'
import { ReferencePicker, sourceOf } from './reference-picker.tsx'
import { FormValue } from './value-editor.tsx'

interface NewRowProps {
  readonly info: TableInfo
  /** Values of the duplicated row. */
  readonly initial: Readonly<Record<string, Value>>
  readonly onAdd: (values: Readonly<Record<string, Value>>) => void
  readonly onClose: () => void
}

/** Renders a form of all columns. The row is staged like any other change. */
export function NewRow({ info, initial, onAdd, onClose }: NewRowProps) {
  const [values, setValues] = useState(initial)
  const [isChecked, setChecked] = useState(false)
  const [isLeaving, setLeaving] = useState(false)
  const columns = info.columns.filter((column) => !isComputed(column))
  const faults = new Map(
    columns.flatMap((column) => {
      const fault = faultOfNew(column, values[column.name])
      return fault === undefined ? [] : [[column.name, fault] as const]
    }),
  )
  return (
    <>
      <SidePanel
        title={`New row of ${info.table}`}
        onClose={() => (values === initial ? onClose() : setLeaving(true))}
        footer={
          <>
            <Button onClick={onClose}>Cancel</Button>
            <Button type="submit" form="new-row" variant="primary">
              Add
            </Button>
          </>
        }
      >
        <Form
          id="new-row"
          onSubmit={() => {
            setChecked(true)
            if (faults.size === 0) onAdd(values)
          }}
        >
          {columns.map((column) => (
            <NewValue
              key={column.name}
              info={info}
              column={column}
              value={values[column.name]}
              fault={isChecked ? faults.get(column.name) : undefined}
              onChange={(changed) => setValues((current) => ({ ...current, ...changed }))}
            />
          ))}
        </Form>
      </SidePanel>
      {isLeaving && (
        <ConfirmDialog
          title="Discard the new row?"
          action="Discard"
          isDangerous
          onConfirm={onClose}
          onClose={() => setLeaving(false)}
        >
          Your input has not been staged yet.
        </ConfirmDialog>
      )}
    </>
  )
}

function faultOfNew(column: ColumnInfo, value: Value): string | undefined {
  if (value !== undefined) return faultOf(column, value)
  const isOptional = column.nullable || column.hasDefault === true || column.identity !== undefined
  return isOptional ? undefined : 'expected a value'
}

function NewValue({
  info,
  column,
  value,
  fault,
  onChange,
}: {
  readonly info: TableInfo
  readonly column: ColumnInfo
  readonly value: Value
  readonly fault: string | undefined
  readonly onChange: (values: Readonly<Record<string, Value>>) => void
}) {
  const [isPicking, setPicking] = useState(false)
  const source = sourceOf(info, column.name)
  const common = {
    label: column.name,
    hint: `${column.type}${column.default === undefined ? '' : `, default ${column.default}`}`,
    error: fault,
  }
  const set = (next: Value) => onChange({ [column.name]: next })
  return (
    <div>
      <FormValue
        {...common}
        column={column}
        text={value ?? ''}
        placeholder={placeholderOf(value)}
        empty={value === null ? 'NULL' : 'Default'}
        onChange={(text) => set(text === '' ? undefined : text)}
      />
      {source !== undefined && (
        <Button size="small" onClick={() => setPicking(true)}>
          Select from {source}
        </Button>
      )}
      {/^(text|character|citext)[^[]*$/.test(column.type) && (
        <Checkbox
          label="Empty text"
          checked={value === ''}
          onChange={(isEmpty) => set(isEmpty ? '' : undefined)}
        />
      )}
      {column.nullable && column.hasDefault === true && (
        <Checkbox
          label="NULL"
          checked={value === null}
          onChange={(isNull) => set(isNull ? null : undefined)}
        />
      )}
      {isPicking && (
        <ReferencePicker
          info={info}
          column={column}
          value={value ?? null}
          onClose={() => setPicking(false)}
          onPick={(picked) => {
            setPicking(false)
            onChange(picked)
          }}
        />
      )}
    </div>
  )
}

const placeholderOf = (value: Value) => (value === null ? 'NULL' : value === '' ? 'empty' : '')
