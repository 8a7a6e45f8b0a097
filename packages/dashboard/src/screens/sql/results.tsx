import { lazy, Suspense, useState } from 'react'
import { loadPart } from '../../api/load-part.ts'
import { Button } from '../../ui/button.tsx'
import { download } from '../../ui/download.ts'
import { countOf, formatDuration, formatNumber } from '../../ui/format.ts'
import { Badge } from '../../ui/layout.tsx'
import { Menu } from '../../ui/menu.tsx'
import { Spinner } from '../../ui/states.tsx'
import { Tabs } from '../../ui/tabs.tsx'
import type { StatementResult } from './api.ts'
import { exportCsv, exportJson, isNumeric } from './export.ts'
import { Messages } from './messages.tsx'
import { ResultGrid } from './result-grid.tsx'
import styles from './sql.module.css'
import type { RunState } from './use-run.ts'

const Chart = lazy(async () => ({ default: (await loadPart(() => import('./chart.tsx'))).Chart }))

interface ResultsProps {
  readonly run: RunState
  /** Repeats the run with a higher row limit. */
  readonly onMore: () => void
}

/** Renders a tab for each statement with rows, and one for messages. */
export function Results({ run, onMore }: ResultsProps) {
  const withRows = run.results.filter(({ columns }) => columns.length > 0)
  const [chosen, setChosen] = useState<string>()
  const last = withRows.at(-1)
  const fallback = run.failure !== undefined || last === undefined ? 'messages' : String(last.statement)
  const isThere = chosen === 'messages' || withRows.some(({ statement }) => String(statement) === chosen)
  return (
    <Tabs
      label="Results"
      value={chosen !== undefined && isThere ? chosen : fallback}
      onChange={setChosen}
      tabs={[
        ...withRows.map((result) => ({
          value: String(result.statement),
          label: `Result ${result.statement + 1}`,
          content: <Result result={result} onMore={onMore} />,
        })),
        {
          value: 'messages',
          label: run.failure === undefined ? 'Messages' : 'Messages (failed)',
          content: <Messages run={run} />,
        },
      ]}
    />
  )
}

function Result({ result, onMore }: { readonly result: StatementResult; readonly onMore: () => void }) {
  const [isChart, setChart] = useState(false)
  const { rows, columns, hasMore } = result
  const name = `result-${result.statement + 1}`
  const csv = (isForSpreadsheets: boolean) =>
    download(`${name}.csv`, 'text/csv', exportCsv(result, isForSpreadsheets))
  return (
    <>
      <div className={styles.resultBar}>
        <span role="status">
          {hasMore ? `First ${formatNumber(rows.length)} rows` : countOf(rows.length, 'row')} ·{' '}
          {formatDuration(result.durationMs)}
        </span>
        {hasMore && (
          <>
            <Badge tone="warning">More rows available</Badge>
            <Button size="small" onClick={onMore}>
              Run for 10,000 rows
            </Button>
          </>
        )}
        {result.cut.length > 0 && <Badge tone="warning">{countOf(result.cut.length, 'value')} cut</Badge>}
        <span className={styles.end}>
          {columns.some(isNumeric) && rows.length > 1 && (
            <Button size="small" aria-pressed={isChart} onClick={() => setChart(!isChart)}>
              Chart
            </Button>
          )}
          <Menu
            size="small"
            label="Export"
            items={[
              { label: 'CSV', onSelect: () => csv(false) },
              { label: 'CSV for spreadsheets (formulas as text)', onSelect: () => csv(true) },
              {
                label: 'JSON',
                onSelect: () => download(`${name}.json`, 'application/json', exportJson(result)),
              },
            ]}
          />
        </span>
      </div>
      {isChart ? (
        <Suspense fallback={<Spinner label="Loading the chart" />}>
          <Chart result={result} />
        </Suspense>
      ) : (
        <ResultGrid label={`Result ${result.statement + 1}`} result={result} />
      )}
    </>
  )
}
