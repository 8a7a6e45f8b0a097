import { useMemo } from 'react'
import { Chart } from '../../ui/chart.tsx'
import { formatDuration, formatNumber } from '../../ui/format.ts'
import { readTraffic } from '../activity/traffic.ts'
import type { Report } from './api.ts'
import styles from './home.module.css'

type Point = Report['hour'][number]

/** Shows the requests, errors and latency of a time span. */
export function Traffic({ points, span }: { readonly points: readonly Point[]; readonly span: string }) {
  const { times, total, failed, requests, latency } = useMemo(() => readTraffic(points), [points])
  // The middle of the steps, each with the weight of its requests.
  const typical = weighted(points, ({ p50_ms: ms }) => ms)
  const slow = weighted(points, ({ p95_ms: ms }) => ms)
  const duration = (ms: number | undefined) => (ms === undefined ? '–' : formatDuration(ms))
  return (
    <div className={styles.traffic}>
      <figure>
        <figcaption>
          <Total name="Requests" value={formatNumber(total)} />
          <Total name="Errors" value={formatNumber(failed)} isBad={failed > 0} />
        </figcaption>
        <Chart
          label={`Requests in ${span}: ${formatNumber(total)}, ${formatNumber(failed)} of them failed`}
          times={times}
          series={requests}
          format={formatNumber}
          isPlain
        />
      </figure>
      <figure>
        <figcaption>
          <Total name="Median" value={duration(typical)} />
          <Total name="95th percentile" value={duration(slow)} />
        </figcaption>
        <Chart
          label={`Latency in ${span}: median ${duration(typical)}, 95th percentile ${duration(slow)}`}
          times={times}
          series={latency}
          format={formatDuration}
          isPlain
        />
      </figure>
    </div>
  )
}

interface TotalProps {
  readonly name: string
  readonly value: string
  readonly isBad?: boolean
}

function Total({ name, value, isBad = false }: TotalProps) {
  return (
    <span className={styles.total} data-bad={isBad}>
      {name} <b>{value}</b>
    </span>
  )
}

function weighted(points: readonly Point[], read: (point: Point) => number | null): number | undefined {
  const known = points.filter((point) => read(point) !== null)
  const weight = known.reduce((sum, { requests }) => sum + Math.max(requests, 1), 0)
  if (weight === 0) return undefined
  return known.reduce((sum, point) => sum + (read(point) ?? 0) * Math.max(point.requests, 1), 0) / weight
}
