import { useMemo } from 'react'
import { Chart } from '../../ui/chart.tsx'
import { Figure, Figures } from '../../ui/figures.tsx'
import { formatBytes, formatDuration, formatNumber } from '../../ui/format.ts'
import { Section } from '../../ui/layout.tsx'
import { readTraffic } from '../activity/traffic.ts'
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
  const { times, total, failed, requests, latency, bytes } = useMemo(() => {
    const { line, ...traffic } = readTraffic(points)
    return {
      ...traffic,
      latency: [...traffic.latency, line('99th', '--danger', (point) => point.p99_ms, { dash: [2, 3] })],
      bytes: [line('Bytes', '--accent', (point) => point.bytes)],
    }
  }, [points])
  const slowest = Math.max(0, ...points.map(({ p95_ms: ms }) => ms ?? 0))
  const transferred = points.reduce((sum, point) => sum + point.bytes, 0)
  const share = total === 0 ? '' : ` (${((failed / total) * 100).toFixed(2)} %)`
  return (
    <>
      <Figures>
        <Figure name="Requests" value={formatNumber(total)} />
        <Figure name="Failed (5xx)" value={`${formatNumber(failed)}${share}`} isBad={failed > 0} />
        <Figure name="Slowest 95th percentile" value={formatDuration(slowest)} />
        <Figure name="Transferred" value={formatBytes(transferred)} />
      </Figures>
      <div className={styles.charts}>
        <Section title="Requests">
          <Chart
            label={`Requests in ${span}: ${formatNumber(total)}, ${formatNumber(failed)} of them failed`}
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
