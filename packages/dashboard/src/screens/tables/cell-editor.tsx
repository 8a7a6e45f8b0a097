import { useRef, useState } from 'react'
import { Button } from '../../ui/button.tsx'
import type { ColumnInfo } from './api.ts'
import { choicesOf, faultOf, kindOf } from './kinds.ts'
import styles from './tables.module.css'
import { Picker } from './value-editor.tsx'

export type Move = 'stay' | 'down' | 'right' | 'left'

interface CellEditorProps {
  readonly column: ColumnInfo
  readonly value: string | null
  /** Text typed over the cell, which replaces the value. */
  readonly typed: string | undefined
  readonly onCommit: (value: string | null, move: Move) => void
  readonly onCancel: () => void
}

/** Renders the editor of a cell: a line of text, or a choice. */
export function CellEditor({ column, value, typed, onCommit, onCancel }: CellEditorProps) {
  const { editor, picker } = kindOf(column)
  const isChoice = editor === 'choice'
  const root = useRef<HTMLDivElement>(null)
  const [text, setText] = useState(typed ?? value ?? '')
  const [isNull, setNull] = useState(value === null && typed === undefined)
  // A commit closes the editor, which then also loses the focus.
  const isDone = useRef(false)
  const current = isNull ? null : text
  const fault = isNull && value === null ? undefined : faultOf(column, current)

  const commit = (move: Move, next = current) => {
    if (isDone.current) return
    isDone.current = true
    onCommit(next, move)
  }
  const cancel = () => {
    isDone.current = true
    onCancel()
  }
  const press = (event: React.KeyboardEvent) => {
    if (event.key === 'Escape') cancel()
    else if (event.key === 'Enter') commit('down')
    else if (event.key === 'Tab') commit(event.shiftKey ? 'left' : 'right')
    else if (event.key === 'ArrowDown' && event.altKey && picker !== undefined)
      root.current?.querySelector<HTMLInputElement>(`[type=${picker}]`)?.showPicker()
    else if (isChoice && event.key === 'Delete' && column.nullable) commit('stay', null)
    else return
    event.preventDefault()
    event.stopPropagation()
  }
  const leave = (event: React.FocusEvent) => {
    if (!event.currentTarget.contains(event.relatedTarget)) commit('stay')
  }

  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it handles keys and focus of the controls inside.
    <div ref={root} className={styles.editor} onKeyDown={press} onBlur={leave}>
      {isChoice ? (
        <select
          // biome-ignore lint/a11y/noAutofocus: the user has started to edit this cell.
          autoFocus
          aria-label={column.name}
          value={isNull ? '' : asChoice(column, text)}
          onChange={(event) => commit('stay', event.target.value === '' ? null : event.target.value)}
        >
          {(column.nullable || isNull) && <option value="">NULL</option>}
          {choicesOf(column).map((choice) => (
            <option key={choice} value={choice}>
              {choice}
            </option>
          ))}
        </select>
      ) : (
        <>
          <input
            // biome-ignore lint/a11y/noAutofocus: as above.
            autoFocus
            aria-label={column.name}
            aria-invalid={fault === undefined ? undefined : true}
            title={fault}
            value={text}
            placeholder={isNull ? 'NULL' : ''}
            spellCheck={false}
            autoComplete="off"
            onChange={(event) => {
              setNull(false)
              setText(event.target.value)
            }}
          />
          {picker !== undefined && (
            <Picker
              {...{ picker, text, type: column.type }}
              // Tab keeps the value and leaves the cell. Alt and ↓ open the picker.
              tabIndex={-1}
              onPick={(picked) => {
                setNull(false)
                setText(picked)
              }}
            />
          )}
          {column.nullable && (
            <Button size="small" aria-pressed={isNull} onClick={() => commit('stay', null)}>
              NULL
            </Button>
          )}
        </>
      )}
    </div>
  )
}

/** Converts a boolean. PostgreSQL prints booleans as `t` and `f` or as words. */
function asChoice({ type }: ColumnInfo, text: string): string {
  if (type !== 'boolean') return text
  return text === 't' ? 'true' : text === 'f' ? 'false' : text
}
