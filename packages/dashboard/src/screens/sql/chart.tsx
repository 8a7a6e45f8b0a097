import { useMemo, useState } from 'react'
import { Chart as Plot, type Scale, type Series } from '../../ui/chart.tsx'
import { Select } from '../../ui/field.tsx'
import { Empty } from '../../ui/states.tsx'
import type { ResultColumn, StatementResult } from './api.ts'
import { isNumeric } from './export.ts'
import styles from './sql.module.css'

const isTime = ({ type }: ResultColumn) => type.startsWith('timestamp') || type === 'date'
const colors = ['--accent', '--danger', '--ok', '--warning', '--text', '--text-muted'] as const
/** Dash patterns, so that lines do not differ by colour alone. */
const dashes = [[], [6, 4], [2, 3], [10, 4], [6, 2, 2, 2], [1, 4]]
const format = (value: number) => value.toLocaleString('en', { maximumSignificantDigits: 6 })

/** Draws the numbers of a result over one of its columns. */
export function Chart({ result }: { readonly result: StatementResult }) {
  const { columns } = result
  const [x, setX] = useState(() => {
    const time = columns.findIndex(isTime)
    return time >= 0
      ? time
      : Math.max(
          0,
          columns.findIndex((column) => !isNumeric(column)),
        )
  })
  const { xs, series, scale } = useMemo(() => dataOf(result, x), [result, x])
  if (columns.length < 2 || series.length === 0)
    return <Empty>A chart needs a column of numbers in addition to the column of the x axis.</Empty>
  return (
    <>
      <div className={styles.chartChoice}>
        <Select
          label="X axis"
          value={String(x)}
          choices={columns.map(({ name }, index) => ({ value: String(index), label: name }))}
          onChange={(value) => setX(Number(value))}
        />
      </div>
      <Plot
        label={`${series.map(({ label }) => label).join(', ')} over ${columns[x]?.name}`}
        times={xs}
        series={series}
        format={format}
        scale={scale}
      />
    </>
  )
}

/** Returns the points of a chart, in the order of the x axis. */
function dataOf({ columns, rows }: StatementResult, x: number) {
  const column = columns[x]
  const isOrdinal = column === undefined || !(isNumeric(column) || isTime(column))
  const points = rows
    .map((row, index) => ({ row, at: isOrdinal ? index : toNumber(row[x], column) }))
    .filter((point): point is { row: (typeof rows)[number]; at: number } => point.at !== null)
    .toSorted((one, other) => one.at - other.at)
  const numbers = columns
    .flatMap((each, index) => (isNumeric(each) && index !== x ? [index] : []))
    .slice(0, colors.length)
  const nameOf = (value: number) => (Number.isInteger(value) ? (rows[value]?.[x] ?? '') : '')
  return {
    xs: points.map(({ at }) => at),
    scale:
      column !== undefined && isTime(column)
        ? undefined
        : ({ format: isOrdinal ? nameOf : format, isOrdinal } satisfies Scale),
    series: numbers.map(
      (of, index): Series => ({
        label: columns[of]?.name ?? '',
        color: colors[index] ?? '--text',
        dash: dashes[index] ?? [],
        isFilled: isOrdinal && numbers.length === 1,
        values: points.map(({ row }) => toNumber(row[of], columns[of])),
      }),
    ),
  }
}

function toNumber(text: string | null | undefined, column: ResultColumn | undefined): number | null {
  if (text === null || text === undefined || column === undefined) return null
  // The time `2026-11-22 10:00:00+00` is converted to seconds, the unit of uPlot.
  const value = isTime(column)
    ? Date.parse(text.replace(' ', 'T').replace(/([+-]\d\d)$/, '$1:00')) / 1000
    : Number(text)
  return Number.isFinite(value) ? value : null
}
