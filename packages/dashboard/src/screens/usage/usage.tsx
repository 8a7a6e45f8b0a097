import { useApi, usePages } from '../../api/queries.ts'
import { Button } from '../../ui/button.tsx'
import type { Column } from '../../ui/data-table.tsx'
import { Select } from '../../ui/field.tsx'
import { formatBytes, formatNumber } from '../../ui/format.ts'
import { PageHeader, Section, Toolbar } from '../../ui/layout.tsx'
import { List } from '../../ui/list.tsx'
import { Loaded } from '../../ui/states.tsx'
import { queryPath } from '../activity/query-path.ts'
import { useFilters } from '../activity/use-filters.ts'
import { type AppUsage, type BreakdownItem, listUsage, readBreakdown, readLatency, type Step } from './api.ts'
import { AppPanel } from './app-panel.tsx'
import { Traffic } from './traffic.tsx'

const hourMs = 3_600_000

/** Time spans of the charts, by their name in the URL. */
const spans = {
  hour: { label: 'Last hour', step: 'minute', ms: hourMs, period: 'day' },
  day: { label: 'Last 24 hours', step: 'minute', ms: 24 * hourMs, period: 'day' },
  week: { label: 'Last 7 days', step: 'hour', ms: 7 * 24 * hourMs, period: 'week' },
  month: { label: 'Last 30 days', step: 'hour', ms: 30 * 24 * hourMs, period: 'month' },
} as const satisfies Record<string, { label: string; step: Step; ms: number; period: string }>
type SpanName = keyof typeof spans

// Object.keys widens the keys.
const spanNames = Object.keys(spans) as SpanName[]

export function UsageScreen() {
  const { values, set } = useFilters(['span', 'app'])
  const name = spanNames.find((candidate) => candidate === values.span) ?? 'hour'
  const { label, step, ms, period } = spans[name]
  const traffic = useApi(
    ['usage', 'latency', name],
    (signal) => readLatency(step, new Date(Date.now() - ms).toISOString(), signal),
    { refetchIntervalMs: 30_000 },
  )
  const apps = usePages(['usage', 'apps', period], (cursor, signal) => listUsage(period, cursor, signal))
  return (
    <>
      <PageHeader
        title="Usage"
        asCode={{
          request: { method: 'GET', path: queryPath('/api/admin/analytics/latency', { step }) },
          command: `basalt usage --period ${period}`,
        }}
      >
        Requests, latency and the usage of each app.
      </PageHeader>
      <Toolbar label="Time">
        <Select
          label="Time"
          hidesLabel
          value={name}
          choices={spanNames.map((value) => ({ value, label: spans[value].label }))}
          onChange={(span) => set({ span: span === 'hour' ? undefined : span })}
        />
      </Toolbar>
      <Loaded query={traffic}>
        {({ items }) => <Traffic points={items} span={`the ${label.toLowerCase()}`} />}
      </Loaded>
      <Section title={`Apps, ${periods[period]}`}>
        <List
          caption="Usage of apps"
          of={apps}
          rowKey={({ tenantId }) => tenantId}
          selectedKey={values.app}
          columns={[
            [
              'App',
              (app) => (
                <Button variant="plain" size="small" onClick={() => set({ app: app.tenantId })}>
                  {app.tenantName}
                </Button>
              ),
            ],
            numeric('Requests', (app) => formatNumber(app.requestCount)),
            numeric('Bandwidth', (app) => formatBytes(app.bandwidthBytes)),
            numeric('Storage', (app) => formatBytes(app.storageBytesUsed)),
            numeric('Procedure calls', (app) => formatNumber(app.functionInvocations)),
            numeric('Peak streams', (app) => formatNumber(app.realtimePeakConnections)),
            numeric('Job runs', (app) => formatNumber(app.jobRuns)),
          ]}
        >
          {apps.rows
            ?.filter(({ tenantId }) => tenantId === values.app)
            .map((app) => (
              <AppPanel key={app.tenantId} app={app} onClose={() => set({ app: undefined })} />
            ))}
        </List>
      </Section>
      <Breakdown title="Endpoints" by="endpoint" period={period} />
      <Breakdown title="Statuses" by="status_code" period={period} />
    </>
  )
}

const periods = {
  day: 'today (UTC)',
  week: 'the last 7 days (UTC)',
  month: 'the last 30 days (UTC)',
} as const

const numeric = (title: string, cell: (app: AppUsage) => string): Column<AppUsage> =>
  title === 'Requests' ? [title, cell, 'end'] : [title, cell, 'end', 'minor']

interface BreakdownProps {
  readonly title: string
  readonly by: 'endpoint' | 'status_code'
  readonly period: keyof typeof periods
}

function Breakdown({ title, by, period }: BreakdownProps) {
  const items = useApi(['usage', 'breakdown', by, period], (signal) => readBreakdown(by, period, signal))
  return (
    <Section title={`${title}, ${periods[period]}`}>
      <List
        caption={title}
        of={items}
        rowKey={({ key }) => key}
        empty="No requests in this period. The requests of your app are counted within a minute."
        columns={[
          [by === 'endpoint' ? 'Endpoint' : 'Status', ({ key }) => <code>{key}</code>],
          ['Requests', ({ value }: BreakdownItem) => formatNumber(value), 'end'],
        ]}
      />
    </Section>
  )
}
