import type { Series } from '../../ui/chart.tsx'

/** Requests in a step of time. */
interface Point {
  readonly timestamp: string
  readonly requests: number
  readonly errors: number
  readonly p50_ms: number | null
  readonly p95_ms: number | null
}

/** Returns the numbers of a time span, and the lines of its charts. */
export function readTraffic<P extends Point>(points: readonly P[]) {
  const line = (
    label: string,
    color: Series['color'],
    read: (point: P) => number | null,
    style: Pick<Series, 'dash' | 'isFilled'> = { isFilled: true },
  ): Series => ({ ...style, label, color, values: points.map(read) })
  return {
    line,
    times: points.map(({ timestamp }) => Date.parse(timestamp) / 1000),
    total: points.reduce((sum, point) => sum + point.requests, 0),
    failed: points.reduce((sum, point) => sum + point.errors, 0),
    requests: [
      line('Requests', '--accent', (point) => point.requests),
      line('Errors', '--danger', (point) => point.errors, { dash: [4, 4] }),
    ],
    latency: [
      line('Median', '--accent', (point) => point.p50_ms),
      line('95th', '--warning', (point) => point.p95_ms, { dash: [6, 3] }),
    ],
  }
}
