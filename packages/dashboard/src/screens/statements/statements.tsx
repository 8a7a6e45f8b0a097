import { isBasaltError } from '@basaltdb/client'
import { useState } from 'react'
import { Link } from 'wouter'
import { useApi } from '../../api/queries.ts'
import { rowsLink, sqlLink } from '../../links.ts'
import { Button } from '../../ui/button.tsx'
import { Code } from '../../ui/code.tsx'
import { type Column, DataTable } from '../../ui/data-table.tsx'
import { Select } from '../../ui/field.tsx'
import { countOf, formatNumber, formatShortDuration } from '../../ui/format.ts'
import { KeyValue, Notice, PageHeader, Section, Toolbar } from '../../ui/layout.tsx'
import { SidePanel } from '../../ui/side-panel.tsx'
import { Loaded } from '../../ui/states.tsx'
import { useFilters } from '../activity/use-filters.ts'
import { listStatements, type Statement, statementOrders } from './api.ts'

const orders = [
  { value: 'total_time', label: 'Total time' },
  { value: 'mean_time', label: 'Mean time' },
  { value: 'calls', label: 'Calls' },
] as const

export function StatementsScreen() {
  const { values, set } = useFilters(['sort'])
  const order = statementOrders.find((name) => name === values.sort) ?? 'total_time'
  const statements = useApi(['statements', order], (signal) => listStatements(order, signal))
  const [shown, setShown] = useState<Statement>()
  return (
    <>
      <PageHeader
        title="Statements"
        asCode={{ request: { method: 'GET', path: `/api/admin/analytics/queries?sort=${order}` } }}
        actions={
          <Button onClick={() => void statements.refetch()} isPending={statements.isFetching}>
            Refresh
          </Button>
        }
      >
        Time that PostgreSQL spent on statements since its statistics were reset.
      </PageHeader>
      {isBasaltError(statements.error, 'query_statistics_unavailable') ? (
        <Unavailable />
      ) : (
        <Loaded query={statements}>
          {({ items, index_suggestions: suggestions }) => (
            <>
              <Toolbar label="Statement order">
                <Select
                  label="Order"
                  hidesLabel
                  value={order}
                  choices={orders}
                  onChange={(sort) => set({ sort: sort === 'total_time' ? undefined : sort })}
                />
              </Toolbar>
              <DataTable
                caption="Statements"
                rows={items.map((statement, index) => ({ statement, index }))}
                rowKey={({ index }) => String(index)}
                empty="No statements yet. Each statement that PostgreSQL runs is counted here with its time."
                columns={[
                  [
                    'Statement',
                    ({ statement }) => (
                      <Button variant="plain" size="small" onClick={() => setShown(statement)}>
                        <code>{firstLine(statement.query)}</code>
                      </Button>
                    ),
                    'cut',
                  ],
                  numeric('Calls', ({ calls }) => formatNumber(calls)),
                  numeric('Mean', ({ mean_time_ms: ms }) => formatShortDuration(ms)),
                  numeric('Total', ({ total_time_ms: ms }) => formatShortDuration(ms)),
                  numeric('Rows', ({ rows }) => formatNumber(rows)),
                ]}
              />
              {suggestions.length > 0 && (
                <Section title="Tables with full scans">
                  <DataTable
                    caption="Tables with frequent full scans"
                    rows={suggestions}
                    rowKey={({ table }) => table}
                    href={({ table }) => rowsLink(table)}
                    columns={[
                      ['Table', ({ table }) => table],
                      ['Scans', ({ scans }) => formatNumber(scans), 'end'],
                      ['Rows per scan', ({ rows_per_scan: rows }) => formatNumber(rows), 'end'],
                    ]}
                  />
                </Section>
              )}
            </>
          )}
        </Loaded>
      )}
      {shown !== undefined && <StatementPanel statement={shown} onClose={() => setShown(undefined)} />}
    </>
  )
}

const numeric = (
  title: string,
  cell: (statement: Statement) => string,
): Column<{ readonly statement: Statement }> => [title, ({ statement }) => cell(statement), 'end']

function StatementPanel({
  statement,
  onClose,
}: {
  readonly statement: Statement
  readonly onClose: () => void
}) {
  const { query, calls, rows, mean_time_ms: mean, total_time_ms: total, cache_hit_ratio: hits } = statement
  const explain = `explain (generic_plan, verbose)\n${query}`
  return (
    <SidePanel title="Statement" size="wide" onClose={onClose}>
      <KeyValue
        items={{
          Calls: countOf(calls, 'call'),
          Time: `${formatShortDuration(mean)} per call, ${formatShortDuration(total)} in total`,
          Rows: `${formatNumber(calls === 0 ? 0 : rows / calls)} per call`,
          'Cache hit rate': hits === null ? '–' : `${(hits * 100).toFixed(1)} %`,
        }}
      />
      <p>
        <Link href={sqlLink(explain)}>Explain in SQL</Link>: the plan without values, which do not leave the
        server.
      </p>
      <Code label="statement">{query}</Code>
    </SidePanel>
  )
}

const setUp = `alter system set shared_preload_libraries = 'pg_stat_statements';
-- restart PostgreSQL, then:
create extension pg_stat_statements;`

function Unavailable() {
  return (
    <>
      <Notice tone="warning">
        Statement statistics are unavailable: the extension pg_stat_statements is not installed.
      </Notice>
      <p>As superuser:</p>
      <Code label="installation statements">{setUp}</Code>
    </>
  )
}

function firstLine(query: string): string {
  return query.replaceAll(/\s+/g, ' ').trim().slice(0, 160)
}
