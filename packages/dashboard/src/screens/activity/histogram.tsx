import { useMemo } from 'react'
import { useApi } from '../../api/queries.ts'
import type { ApiResponse } from '../../api/request.ts'
import { Chart } from '../../ui/chart.tsx'
import { formatInstant, formatNumber } from '../../ui/format.ts'
import { Failure } from '../../ui/states.tsx'
import styles from './histogram.module.css'

interface HistogramProps {
  /** Plural of the counted rows. */
  readonly name: string
  readonly queryKey: readonly unknown[]
  readonly read: (signal: AbortSignal) => Promise<ApiResponse<'logs.histogram'>>
  readonly isLive?: boolean
  readonly onSelect: (from: string, to: string) => void
}

/** Shows the number of rows over time. A range is selected by dragging; keyboards use the fields of the range. */
export function Histogram({ name, queryKey, read, isLive = false, onSelect }: HistogramProps) {
  const { data, error, refetch } = useApi(queryKey, read, { refetchIntervalMs: isLive ? 10_000 : undefined })
  const { times, series } = useMemo(() => {
    const items = data?.items ?? []
    return {
      times: items.map(({ timestamp }) => Date.parse(timestamp) / 1000),
      series: [
        { label: name, color: '--accent', values: items.map(({ count }) => count) },
        { label: 'Errors', color: '--danger', values: items.map(({ errors }) => errors) },
      ] as const,
    }
  }, [data, name])
  if (data === undefined) {
    if (error !== null) return <Failure error={error} onRetry={() => void refetch()} />
    return <div className={styles.histogram} aria-busy="true" />
  }
  const [total, errors] = series.map(({ values }) => values.reduce((sum, value) => sum + value, 0))
  const about = data.isEstimated ? 'about ' : ''
  return (
    <figure className={styles.histogram}>
      <Chart
        label={`${name}: ${about}${formatNumber(total ?? 0)}, ${about}${formatNumber(errors ?? 0)} of them errors`}
        times={times}
        series={series}
        format={formatNumber}
        isPlain
        onSelect={(from, to) =>
          onSelect(new Date(from * 1000).toISOString(), new Date(to * 1000).toISOString())
        }
      />
      <figcaption>
        {formatInstant(data.from)} to {formatInstant(data.to)}. Drag over the chart to select a range.
      </figcaption>
    </figure>
  )
}
