import { useState } from 'react'
import { usePages } from '../../api/queries.ts'
import { Button } from '../../ui/button.tsx'
import { Code } from '../../ui/code.tsx'
import { Switch } from '../../ui/field.tsx'
import { Badge, KeyValue, PageHeader } from '../../ui/layout.tsx'
import { List } from '../../ui/list.tsx'
import { SidePanel } from '../../ui/side-panel.tsx'
import { Time } from '../../ui/time.tsx'
import { withInstants } from '../../ui/time-range.tsx'
import { DashboardReads } from '../activity/dashboard-reads.tsx'
import { Filters } from '../activity/filters.tsx'
import { Histogram } from '../activity/histogram.tsx'
import { toneOfLevel } from '../activity/level.ts'
import { RequestLink } from '../activity/links.tsx'
import { queryPath } from '../activity/query-path.ts'
import { useFilters } from '../activity/use-filters.ts'
import { countLogs, type LogEntry, listLogs, logLevels } from './api.ts'
import { merge, summarize, withKeys } from './entries.ts'
import { useTail } from './use-tail.ts'

const names = ['level', 'q', 'requestId', 'since', 'until', 'live'] as const

const levels = Object.fromEntries([
  ['', 'All levels'],
  ...logLevels.map((level) => [level, `${level} and above`] as const),
])

export function LogsScreen() {
  const filters = useFilters(names)
  const { values, settled, set, isFiltered } = filters
  const [shown, setShown] = useState<LogEntry>()
  const { live, ...filter } = settled
  const isLive = values.live === '1'
  const tail = useTail({ level: filter.level, q: filter.q, requestId: filter.requestId }, isLive)
  const list = usePages(['logs', filter], (cursor, signal) => listLogs(withInstants(filter), cursor, signal))
  return (
    <>
      <PageHeader
        title="Logs"
        asCode={{
          request: { method: 'GET', path: queryPath('/api/admin/logs', withInstants(filter)) },
          command: `basalt logs${filter.level === undefined ? '' : ` --level ${filter.level}`}`,
        }}
      >
        Log entries of all nodes, newest first.
      </PageHeader>
      <Filters
        label="Log filter"
        filters={filters}
        fields={[
          { name: 'q', label: 'Text' },
          { name: 'level', label: 'Level', choices: levels },
          { name: 'requestId', label: 'Request id' },
        ]}
        range={['since', 'until']}
      >
        <Switch
          label={tail.state === 'connecting' ? 'Live (connecting)' : 'Live'}
          checked={isLive}
          onChange={(checked) => set({ live: checked ? '1' : undefined })}
        />
        <DashboardReads />
      </Filters>
      <Histogram
        name="Entries"
        queryKey={['logs', 'histogram', filter]}
        read={(signal) => countLogs(withInstants(filter), signal)}
        isLive={isLive}
        onSelect={(since, until) => set({ since, until })}
      />
      <List
        caption="Log entries"
        of={{ ...list, rows: list.rows && withKeys(isLive ? merge(tail.entries, list.rows) : list.rows) }}
        rowKey={({ key }) => key}
        isFiltered={isFiltered}
        empty="No log entries yet. Each node writes its warnings, errors and requests here."
        example={['basalt logs --level warn', 'The same on a terminal']}
        columns={[
          ['Time', ({ entry }) => <Time value={entry.time} />],
          ['Level', ({ entry }) => <Badge tone={toneOfLevel(entry.level)}>{entry.level}</Badge>],
          [
            'Message',
            ({ entry }) => (
              <Button variant="plain" size="small" onClick={() => setShown(entry)}>
                {entry.message === '' ? '(no message)' : entry.message}
              </Button>
            ),
            'cut',
          ],
          ['Attributes', ({ entry }) => <code>{summarize(entry.attrs)}</code>, 'cut', 'minor'],
          ['Request', ({ entry }) => <RequestLink id={entry.requestId} />, 'minor'],
        ]}
      />
      {shown !== undefined && <EntryPanel entry={shown} onClose={() => setShown(undefined)} />}
    </>
  )
}

function EntryPanel({ entry, onClose }: { readonly entry: LogEntry; readonly onClose: () => void }) {
  return (
    <SidePanel title="Log entry" onClose={onClose}>
      <KeyValue
        items={{
          Time: <Time value={entry.time} />,
          Level: <Badge tone={toneOfLevel(entry.level)}>{entry.level}</Badge>,
          Message: entry.message,
          Node: <code>{entry.node}</code>,
          Request: <RequestLink id={entry.requestId} />,
        }}
      />
      <h3>Attributes</h3>
      <Code label="attributes">{JSON.stringify(entry.attrs, null, 2)}</Code>
    </SidePanel>
  )
}
