import { useState } from 'react'
import { moreOf, usePages } from '../../api/queries.ts'
import { AsCode } from '../../ui/as-code.tsx'
import { Button } from '../../ui/button.tsx'
import { Code } from '../../ui/code.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { Switch } from '../../ui/field.tsx'
import { Badge, KeyValue, PageHeader } from '../../ui/layout.tsx'
import { SearchedTo } from '../../ui/searched-to.tsx'
import { SidePanel } from '../../ui/side-panel.tsx'
import { LoadedRows } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import { withInstants } from '../../ui/time-range.tsx'
import { Filters } from '../activity/filters.tsx'
import { Histogram } from '../activity/histogram.tsx'
import { toneOfLevel } from '../activity/level.ts'
import { RequestLink } from '../activity/links.tsx'
import { queryPath } from '../activity/query-path.ts'
import { useFilters } from '../activity/use-filters.ts'
import { countLogs, type LogEntry, listLogs, logLevels } from './api.ts'
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
        actions={
          <AsCode
            request={{ method: 'GET', path: queryPath('/api/admin/logs', withInstants(filter)) }}
            command={`basalt logs${filter.level === undefined ? '' : ` --level ${filter.level}`}`}
          />
        }
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
      </Filters>
      <Histogram
        name="Entries"
        queryKey={['logs', 'histogram', filter]}
        read={(signal) => countLogs(withInstants(filter), signal)}
        isLive={isLive}
        onSelect={(since, until) => set({ since, until })}
      />
      <LoadedRows list={list}>
        {(rows) => (
          <>
            <DataTable
              caption="Log entries"
              rows={withKeys(isLive ? merge(tail.entries, rows) : rows)}
              rowKey={({ key }) => key}
              empty={isFiltered ? 'No entries match.' : 'No log entries yet.'}
              columns={[
                { key: 'time', title: 'Time', cell: ({ entry }) => <Time value={entry.time} /> },
                {
                  key: 'level',
                  title: 'Level',
                  cell: ({ entry }) => <Badge tone={toneOfLevel(entry.level)}>{entry.level}</Badge>,
                },
                {
                  key: 'message',
                  title: 'Message',
                  isCut: true,
                  cell: ({ entry }) => (
                    <Button variant="plain" size="small" onClick={() => setShown(entry)}>
                      {entry.message === '' ? '(no message)' : entry.message}
                    </Button>
                  ),
                },
                {
                  key: 'attributes',
                  title: 'Attributes',
                  isCut: true,
                  isMinor: true,
                  cell: ({ entry }) => <code>{summarize(entry.attrs)}</code>,
                },
                {
                  key: 'request',
                  title: 'Request',
                  isMinor: true,
                  cell: ({ entry }) => <RequestLink id={entry.requestId} />,
                },
              ]}
              {...moreOf(list)}
            />
            <SearchedTo list={list} />
          </>
        )}
      </LoadedRows>
      {shown !== undefined && <EntryPanel entry={shown} onClose={() => setShown(undefined)} />}
    </>
  )
}

function EntryPanel({ entry, onClose }: { readonly entry: LogEntry; readonly onClose: () => void }) {
  return (
    <SidePanel title="Log entry" onClose={onClose}>
      <KeyValue
        items={[
          ['Time', <Time key="time" value={entry.time} />],
          [
            'Level',
            <Badge key="level" tone={toneOfLevel(entry.level)}>
              {entry.level}
            </Badge>,
          ],
          ['Message', entry.message],
          ['Node', <code key="node">{entry.node}</code>],
          ['Request', <RequestLink key="request" id={entry.requestId} />],
        ]}
      />
      <h3>Attributes</h3>
      <Code label="attributes">{JSON.stringify(entry.attrs, null, 2)}</Code>
    </SidePanel>
  )
}

/** Merges the tail and the list, which contains entries of the tail after it is read again. */
function merge(newest: readonly LogEntry[], rows: readonly LogEntry[]): readonly LogEntry[] {
  const known = new Set(newest.map(identify))
  return [...newest, ...rows.filter((entry) => !known.has(identify(entry)))]
}

function identify({ time, node, message, requestId }: LogEntry): string {
  return [time, node, requestId, message].join(' ')
}

/** Adds keys to the entries. Entries have no id, so equal ones get a number. */
function withKeys(entries: readonly LogEntry[]) {
  const counts = new Map<string, number>()
  return entries.map((entry) => {
    const identity = identify(entry)
    const count = counts.get(identity) ?? 0
    counts.set(identity, count + 1)
    return { entry, key: `${identity} ${count}` }
  })
}

const summaryLength = 120

function summarize(attrs: LogEntry['attrs']): string {
  const text = Object.entries(attrs)
    .map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(' ')
  return text.length > summaryLength ? `${text.slice(0, summaryLength)}…` : text
}
