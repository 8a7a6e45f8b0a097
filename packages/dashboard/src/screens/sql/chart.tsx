import { useEffect, useRef, useState } from 'react'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { Select } from '../../ui/field.tsx'
import { Empty } from '../../ui/states.tsx'
import type { ResultColumn, StatementResult } from './api.ts'
import { isNumeric } from './export.ts'
import styles from './sql.module.css'

const isTime = ({ type }: ResultColumn) => type.startsWith('timestamp') || type === 'date'
const mostSeries = 6
const height = 320
const colours = ['--accent', '--danger', '--ok', '--warning', '--text', '--text-muted']
/** Dash patterns, so that lines do not differ by colour alone. */
const dashes = [[], [6, 4], [2, 3], [10, 4], [6, 2, 2, 2], [1, 4]]

/** Draws the numbers of a result over one of its columns. */
export function Chart({ result }: { readonly result: StatementResult }) {
  const { columns, rows } = result
  const container = useRef<HTMLDivElement>(null)
  const [x, setX] = useState(() => Math.max(0, columns.findIndex(isTime)))
  const series = columns
    .flatMap((column, index) => (isNumeric(column) && index !== x ? [index] : []))
    .slice(0, mostSeries)
  const names = series.map((index) => columns[index]?.name ?? '')

  // biome-ignore lint/correctness/useExhaustiveDependencies: the series follow the result and x.
  useEffect(() => {
    const parent = container.current
    if (parent === null || series.length === 0) return
    const colour = (name = '--text') => {
      // A canvas supports neither variables nor light-dark(), so an element resolves them.
      parent.style.color = `var(${name})`
      return getComputedStyle(parent).color
    }
    const column = columns[x]
    const isOrdinal = column === undefined || !(isNumeric(column) || isTime(column))
    const points = rows
      .map((row, index) => [
        isOrdinal ? index : toNumber(row[x], column),
        ...series.map((at) => toNumber(row[at], columns[at])),
      ])
      .filter(([at]) => at !== null)
      .toSorted(([a], [b]) => (a ?? 0) - (b ?? 0))
    const data = [0, ...series.map((_, index) => index + 1)].map((at) =>
      points.map((point) => point[at] ?? null),
    )
    const axis = {
      stroke: colour('--text-muted'),
      grid: { stroke: colour('--line') },
      ticks: { stroke: colour('--line') },
    }
    const strokes = names.map((_, index) => colour(colours[index]))
    parent.style.color = ''
    const labels = (values: readonly number[]) =>
      values.map((value) => (Number.isInteger(value) ? (rows[value]?.[x] ?? '') : ''))
    const chart = new uPlot(
      {
        width: parent.clientWidth,
        height,
        scales: { x: { time: column !== undefined && isTime(column) } },
        axes: [
          { ...axis, ...(isOrdinal ? { values: (_: uPlot, values: number[]) => labels(values) } : {}) },
          axis,
        ],
        series: [
          { label: column?.name ?? '' },
          ...names.map((label, index) => ({
            label,
            stroke: strokes[index] ?? '',
            dash: dashes[index] ?? [],
            width: 2,
            points: { show: points.length < 100 },
          })),
        ],
      },
      // uPlot uses null for gaps. Only x must not have gaps, and it has none.
      data as uPlot.AlignedData,
      parent,
    )
    const observer = new ResizeObserver(() => chart.setSize({ width: parent.clientWidth, height }))
    observer.observe(parent)
    return () => {
      observer.disconnect()
      chart.destroy()
    }
  }, [result, x])

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
      <div
        ref={container}
        role="img"
        aria-label={`${names.join(', ')} over ${columns[x]?.name}`}
        className={styles.chart}
      />
    </>
  )
}

function toNumber(text: string | null | undefined, column: ResultColumn | undefined): number | null {
  if (text === null || text === undefined || column === undefined) return null
  // The time `2026-11-22 10:00:00+00` is converted to seconds, the unit of uPlot.
  const value = isTime(column)
    ? Date.parse(text.replace(' ', 'T').replace(/([+-]\d\d)$/, '$1:00')) / 1000
    : Number(text)
  return Number.isFinite(value) ? value : null
}
