import { moreOf, useApi, usePages } from '../../api/queries.ts'
import { AsCode } from '../../ui/as-code.tsx'
import { Button } from '../../ui/button.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { Select } from '../../ui/field.tsx'
import { formatBytes, formatNumber } from '../../ui/format.ts'
import { PageHeader, Section, Toolbar } from '../../ui/layout.tsx'
import { Loaded, LoadedRows } from '../../ui/states.tsx'
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
        actions={
          <AsCode
            request={{ method: 'GET', path: queryPath('/api/admin/analytics/latency', { step }) }}
            command={`basalt usage --period ${period}`}
          />
        }
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
        <LoadedRows list={apps}>
          {(rows) => (
            <>
              <DataTable
                caption="Usage of apps"
                rows={rows}
                rowKey={({ tenantId }) => tenantId}
                selectedKey={values.app}
                columns={[
                  {
                    key: 'app',
                    title: 'App',
                    cell: (app) => (
                      <Button variant="plain" size="small" onClick={() => set({ app: app.tenantId })}>
                        {app.tenantName}
                      </Button>
                    ),
                  },
                  numeric('Requests', (app) => formatNumber(app.requestCount)),
                  numeric('Bandwidth', (app) => formatBytes(app.bandwidthBytes)),
                  numeric('Storage', (app) => formatBytes(app.storageBytesUsed)),
                  numeric('Procedure calls', (app) => formatNumber(app.functionInvocations)),
                  numeric('Peak streams', (app) => formatNumber(app.realtimePeakConnections)),
                  numeric('Job runs', (app) => formatNumber(app.jobRuns)),
                ]}
                {...moreOf(apps)}
              />
              {rows
                .filter(({ tenantId }) => tenantId === values.app)
                .map((app) => (
                  <AppPanel key={app.tenantId} app={app} onClose={() => set({ app: undefined })} />
                ))}
            </>
          )}
        </LoadedRows>
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

const numeric = (title: string, cell: (app: AppUsage) => string) => ({
  key: title,
  title,
  align: 'end' as const,
  isMinor: title !== 'Requests',
  cell,
})

interface BreakdownProps {
  readonly title: string
  readonly by: 'endpoint' | 'status_code'
  readonly period: keyof typeof periods
}

function Breakdown({ title, by, period }: BreakdownProps) {
  const items = useApi(['usage', 'breakdown', by, period], (signal) => readBreakdown(by, period, signal))
  return (
    <Section title={`${title}, ${periods[period]}`}>
      <Loaded query={items}>
        {({ items: rows }) => (
          <DataTable
            caption={title}
            rows={rows}
            rowKey={({ key }) => key}
            empty="No requests yet."
            columns={[
              {
                key: 'key',
                title: by === 'endpoint' ? 'Endpoint' : 'Status',
                cell: ({ key }) => <code>{key}</code>,
              },
              {
                key: 'value',
                title: 'Requests',
                align: 'end',
                cell: ({ value }: BreakdownItem) => formatNumber(value),
              },
            ]}
          />
        )}
      </Loaded>
    </Section>
  )
}
