import { useMemo, useState } from 'react'
import { Grid } from '../../grid/grid.tsx'
import type { GridColumn } from '../../grid/model.ts'
import { selectCell } from '../../grid/selection.ts'
import { Button } from '../../ui/button.tsx'
import { CopyButton } from '../../ui/code.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { formatNumber } from '../../ui/format.ts'
import type { ResultColumn, StatementResult } from './api.ts'
import { isNumeric } from './export.ts'
import styles from './sql.module.css'

/** Pixels that a column takes for its values, as far as they are known. */
const widths = { least: 80, most: 360, ofCharacter: 7.5, padding: 24 }
/** Pixels of a row, and of the header with a scroll bar; the style sheet has the limits. */
const heights = { row: 28, around: 64 }
/** Rows that decide on the width of a column. */
const measuredRows = 50
/** Longer values are shown whole when they are opened. */
const shownLength = 300

/** Rows of a result in the grid that tables have; Enter and a double press open a value. */
export function ResultGrid({ label, result }: { readonly label: string; readonly result: StatementResult }) {
  const { columns, rows, cut } = result
  const [selection, setSelection] = useState(selectCell({ row: 0, column: 0 }))
  const [opened, setOpened] = useState<{ readonly row: number; readonly column: number }>()
  const shown = useMemo<GridColumn[]>(
    () => columns.map((column, index) => gridColumn(column, index, rows)),
    [columns, rows],
  )
  const lengths = useMemo(
    () => new Map(cut.map(([row, column, length]) => [`${row} ${column}`, length])),
    [cut],
  )
  const openedColumn = opened === undefined ? undefined : columns[opened.column]
  const openedValue = opened === undefined ? undefined : rows[opened.row]?.[opened.column]
  return (
    <>
      <div
        className={styles.grid}
        style={{ height: heights.around + Math.max(1, rows.length) * heights.row }}
      >
        <Grid
          label={label}
          columns={shown}
          rowCount={rows.length}
          totalRows={result.hasMore ? undefined : rows.length}
          version={result}
          selection={selection}
          onSelect={setSelection}
          rowKey={(row) => String(row)}
          cell={(row, { key }) => {
            const text = rows[row]?.[Number(key)] ?? null
            const length = lengths.get(`${row} ${key}`)
            const isLong = (text?.length ?? 0) > shownLength
            return {
              text: isLong ? `${text?.slice(0, shownLength)}…` : text,
              note: length === undefined ? undefined : `${formatNumber(length)} characters`,
            }
          }}
          onEdit={({ row, column, typed }) => {
            if (typed === undefined) setOpened({ row, column })
          }}
        />
      </div>
      <Dialog
        title={openedColumn?.name ?? ''}
        isOpen={opened !== undefined}
        onClose={() => setOpened(undefined)}
        size="wide"
        footer={
          <>
            {typeof openedValue === 'string' && <CopyButton text={openedValue} label="value" />}
            <Button onClick={() => setOpened(undefined)}>Close</Button>
          </>
        }
      >
        {openedValue === null ? (
          <p>NULL</p>
        ) : (
          <pre className={styles.value}>{readable(openedValue, openedColumn)}</pre>
        )}
      </Dialog>
    </>
  )
}

function gridColumn(column: ResultColumn, index: number, rows: StatementResult['rows']): GridColumn {
  let longest = Math.max(column.name.length, column.type.length)
  for (const row of rows.slice(0, measuredRows)) longest = Math.max(longest, row[index]?.length ?? 4)
  const width = Math.min(widths.most, Math.max(widths.least, longest * widths.ofCharacter + widths.padding))
  return {
    // Columns of a result may share a name.
    key: String(index),
    title: column.name,
    type: column.type,
    width: Math.round(width),
    ...(isNumeric(column) ? { align: 'end' as const } : {}),
  }
}

/** JSON with a member per line. */
function readable(value = '', column: ResultColumn | undefined): string {
  if (column?.type !== 'json' && column?.type !== 'jsonb') return value
  try {
    // Reading and printing it would round its numbers: only what loses nothing is taken.
    const parsed: unknown = JSON.parse(value)
    return /\d{15}|\.\d*0\b|[eE]/.test(value) ? value : JSON.stringify(parsed, undefined, 2)
  } catch {
    return value
  }
}
