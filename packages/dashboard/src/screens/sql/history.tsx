import { useState } from 'react'
import { useAction, usePages } from '../../api/queries.ts'
import { Button } from '../../ui/button.tsx'
import { formatDuration, formatNumber } from '../../ui/format.ts'
import { Badge, FilterField, type Tone, Toolbar } from '../../ui/layout.tsx'
import { List } from '../../ui/list.tsx'
import { SidePanel } from '../../ui/side-panel.tsx'
import { Time } from '../../ui/time.tsx'
import { listRuns, type Run, readRun } from './api.ts'
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

/** Lists the last thousand queries of administrators. */
export function History({ onClose, onTake }: HistoryProps) {
  const [search, setSearch] = useState('')
  const runs = usePages(['sql', 'runs', search], (cursor, signal) => listRuns(search, cursor, signal))
  const open = useAction(async (run: Run) => (run.isCut ? await readRun(run.id) : run), {
    onDone: ({ query }) => onTake(query),
  })
  return (
    <SidePanel title="History" size="wide" onClose={onClose}>
      <Toolbar label="History">
        <FilterField label="Search queries" value={search} onChange={setSearch} />
      </Toolbar>
      <List
        caption="Past queries"
        of={runs}
        isFiltered={search !== ''}
        empty="No queries yet. Each statement that you run is kept here, with its result and duration."
        columns={[
          [
            'Query',
            ({ query, queryLength, error }) => (
              <>
                <pre className={styles.historyQuery}>{query}</pre>
                {queryLength > [...query].length && (
                  <p className={styles.muted}>… {formatNumber(queryLength)} characters</p>
                )}
                {error !== null && <p className={styles.muted}>{error}</p>}
              </>
            ),
          ],
          [
            'Run',
            ({ status, mode, runAs, startedAt, durationMs }) => (
              <>
                <Badge tone={tones[status]}>{status}</Badge>{' '}
                {mode === 'write' && <Badge tone="warning">write</Badge>}
                <br />
                <Time value={startedAt} />
                {durationMs !== null && <> · {formatDuration(durationMs)}</>}
                {runAs !== 'administrator' && <> · as {runAs}</>}
              </>
            ),
          ],
          [
            'Actions',
            (run) => (
              <Button size="small" onClick={() => open.run(run)}>
                Open
              </Button>
            ),
            'actions',
          ],
        ]}
      />
    </SidePanel>
  )
}
