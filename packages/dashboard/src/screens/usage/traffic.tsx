import { useMemo } from 'react'
import { Chart, type Series } from '../../ui/chart.tsx'
import { formatBytes, formatDuration, formatNumber } from '../../ui/format.ts'
import { Section } from '../../ui/layout.tsx'
import type { LatencyPoint } from './api.ts'
import styles from './usage.module.css'

/** Shows requests, errors, latency and bytes over time. */
export function Traffic({
  points,
  span,
}: {
  readonly points: readonly LatencyPoint[]
  readonly span: string
}) {
  const { times, requests, latency, bytes } = useMemo(() => seriesOf(points), [points])
  const total = points.reduce((sum, point) => sum + point.requests, 0)
  const errors = points.reduce((sum, point) => sum + point.errors, 0)
  const slowest = Math.max(0, ...points.map(({ p95_ms: ms }) => ms ?? 0))
  const transferred = points.reduce((sum, point) => sum + point.bytes, 0)
  const share = total === 0 ? '' : ` (${((errors / total) * 100).toFixed(2)} %)`
  return (
    <>
      <dl className={styles.figures}>
        <Figure name="Requests" value={formatNumber(total)} />
        <Figure name="Failed (5xx)" value={`${formatNumber(errors)}${share}`} />
        <Figure name="Slowest 95th percentile" value={formatDuration(slowest)} />
        <Figure name="Transferred" value={formatBytes(transferred)} />
      </dl>
      <div className={styles.charts}>
        <Section title="Requests">
          <Chart
            label={`Requests in ${span}: ${formatNumber(total)}, ${formatNumber(errors)} of them failed`}
            times={times}
            series={requests}
            format={formatNumber}
          />
        </Section>
        <Section title="Latency">
          <Chart
            label={`Latency in ${span}: the slowest 95th percentile is ${formatDuration(slowest)}`}
            times={times}
            series={latency}
            format={formatDuration}
          />
        </Section>
        <Section title="Bytes">
          <Chart
            label={`Bytes in ${span}: ${formatBytes(transferred)}`}
            times={times}
            series={bytes}
            format={formatBytes}
          />
        </Section>
      </div>
    </>
  )
}

function Figure({ name, value }: { readonly name: string; readonly value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  )
}

function seriesOf(points: readonly LatencyPoint[]) {
  const line = (
    label: string,
    color: Series['color'],
    read: (point: LatencyPoint) => number | null,
    dash?: readonly number[],
  ): Series => ({ label, color, values: points.map(read), ...(dash === undefined ? {} : { dash }) })
  return {
    times: points.map(({ timestamp }) => Date.parse(timestamp) / 1000),
    requests: [
      line('Requests', '--accent', (point) => point.requests),
      line('Failed', '--danger', (point) => point.errors, [4, 4]),
    ],
    latency: [
      line('50th percentile', '--accent', (point) => point.p50_ms),
      line('95th', '--warning', (point) => point.p95_ms, [6, 3]),
      line('99th', '--danger', (point) => point.p99_ms, [2, 3]),
    ],
    bytes: [line('Bytes', '--accent', (point) => point.bytes)],
  }
}
