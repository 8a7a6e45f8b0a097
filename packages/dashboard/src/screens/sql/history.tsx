import { useState } from 'react'
import { moreOf, usePages } from '../../api/queries.ts'
import { Button } from '../../ui/button.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { formatDuration } from '../../ui/format.ts'
import { Badge, FilterField, type Tone, Toolbar } from '../../ui/layout.tsx'
import { SidePanel } from '../../ui/side-panel.tsx'
import { LoadedRows } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import { listRuns, type Run } from './api.ts'
import styles from './sql.module.css'

interface HistoryProps {
  readonly onClose: () => void
  readonly onTake: (query: string) => void
}

const tones: Readonly<Record<Run['status'], Tone>> = {
  running: 'accent',
  succeeded: 'ok',
  failed: 'danger',
  canceled: 'warning',
  interrupted: 'warning',
}
const pageSize = 50

/** What administrators ran, the last thousand. */
export function History({ onClose, onTake }: HistoryProps) {
  const [search, setSearch] = useState('')
  const runs = usePages(['sql', 'runs', search], async (after, signal) => {
    const { items } = await listRuns(search, after, signal)
    return { items, next: items.length < pageSize ? undefined : items.at(-1)?.id }
  })
  return (
    <SidePanel title="History" size="wide" onClose={onClose}>
      <Toolbar label="History">
        <FilterField label="Search the queries" value={search} onChange={setSearch} />
      </Toolbar>
      <LoadedRows list={runs}>
        {(rows) => (
          <DataTable
            caption="Queries that were run"
            rows={rows}
            rowKey={({ id }) => id}
            empty={search === '' ? 'Nothing was run yet.' : 'No query has these words.'}
            columns={[
              {
                key: 'query',
                title: 'Query',
                cell: ({ query, error }) => (
                  <>
                    <pre className={styles.historyQuery}>{query.slice(0, 400)}</pre>
                    {error !== null && <p className={styles.muted}>{error}</p>}
                  </>
                ),
              },
              {
                key: 'status',
                title: 'Run',
                cell: ({ status, mode, runAs, startedAt, durationMs }) => (
                  <>
                    <Badge tone={tones[status]}>{status}</Badge>{' '}
                    {mode === 'write' && <Badge tone="warning">write</Badge>}
                    <br />
                    <Time value={startedAt} />
                    {durationMs !== null && <> · {formatDuration(durationMs)}</>}
                    {runAs !== 'administrator' && <> · as {runAs}</>}
                  </>
                ),
              },
              {
                key: 'take',
                title: <span className="visually-hidden">Actions</span>,
                align: 'end',
                cell: ({ query }) => (
                  <Button size="small" onClick={() => onTake(query)}>
                    Open
                  </Button>
                ),
              },
            ]}
            {...moreOf(runs)}
          />
        )}
      </LoadedRows>
    </SidePanel>
  )
}
