import { useMemo, useState } from 'react'
import { Grid } from '../../grid/grid.tsx'
import type { GridColumn } from '../../grid/model.ts'
import { selectCell } from '../../grid/selection.ts'
import { Button } from '../../ui/button.tsx'
import { CopyButton } from '../../ui/code.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { formatNumber } from '../../ui/format.ts'
import { indentJson } from '../../ui/json.ts'
import type { ResultColumn, StatementResult } from './api.ts'
import { isNumeric } from './export.ts'
import styles from './sql.module.css'

/** Column widths in pixels, for the values that are known. */
const widths = { least: 80, most: 360, ofCharacter: 7.5, padding: 24 }
/** Height of a row, and of the header with a scroll bar, in pixels. The style sheet has the limits. */
const heights = { row: 28, around: 64 }
/** Number of rows that determine the width of a column. */
const measuredRows = 50
/** Maximum length of a value in a cell. Opening the cell shows the whole value. */
const shownLength = 300

/** Renders the rows of a result in the grid. Enter and a double click open a value. */
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
    // Columns of a result may have equal names.
    key: String(index),
    title: column.name,
    type: column.type,
    width: Math.round(width),
    ...(isNumeric(column) ? { align: 'end' as const } : {}),
  }
}

/** Formats JSON with one member per line. */
const readable = (value = '', column: ResultColumn | undefined) =>
  column?.type === 'json' || column?.type === 'jsonb' ? indentJson(value) : value
