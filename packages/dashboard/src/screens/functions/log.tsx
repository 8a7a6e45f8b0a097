import { usePages } from '../../api/queries.ts'
import { Switch } from '../../ui/field.tsx'
import { Badge, PageHeader } from '../../ui/layout.tsx'
import { List } from '../../ui/list.tsx'
import { Time } from '../../ui/time.tsx'
import { Filters } from '../activity/filters.tsx'
import { toneOfLevel } from '../activity/level.ts'
import { RequestLink } from '../activity/links.tsx'
import { useFilters } from '../activity/use-filters.ts'
import { type LogEntry, listLogs, logLevels } from '../logs/api.ts'
import { merge, summarize, withKeys } from '../logs/entries.ts'
import { useTail } from '../logs/use-tail.ts'
import { useFunctionNames } from './use-function-names.ts'

const levels = Object.fromEntries([
  ['', 'All levels'],
  ...logLevels.slice(1, 5).map((level) => [level, `${level} and above`] as const),
])

/** Lines of functions, which are in the log of the server. */
export function FunctionLogScreen() {
  const filters = useFilters(['function', 'level', 'live'])
  const { values, settled, set, isFiltered } = filters
  const isLive = values.live !== '0'
  const names = useFunctionNames()
  const { function: name, level } = settled
  // The search is in the attributes as JSON of PostgreSQL.
  const q = name === undefined ? 'function' : `"function": ${JSON.stringify(name)}`
  const filter = { level, q, requestId: undefined }
  const tail = useTail(filter, isLive)
  const list = usePages(['logs', 'functions', filter], (cursor, signal) => listLogs(filter, cursor, signal))
  const rows = list.rows && (isLive ? merge(tail.entries, list.rows) : list.rows)
  return (
    <>
      <PageHeader
        title="Function log"
        asCode={{
          command: `basalt functions logs --follow${name === undefined ? '' : ` --function ${name}`}`,
          request: { method: 'GET', path: `/api/admin/logs?${new URLSearchParams({ q })}` },
        }}
      >
        Lines and errors of functions on all nodes, newest first.
      </PageHeader>
      <Filters
        label="Log filter"
        filters={filters}
        fields={[
          { name: 'function', label: 'Function', choices: names },
          { name: 'level', label: 'Level', choices: levels },
        ]}
      >
        <Switch
          label={isLive && tail.state === 'connecting' ? 'Live (connecting)' : 'Live'}
          checked={isLive}
          onChange={(checked) => set({ live: checked ? undefined : '0' })}
        />
      </Filters>
      <List
        caption="Log of functions"
        of={{ ...list, rows: rows && withKeys(rows.filter(isOfFunctions)) }}
        rowKey={({ key }) => key}
        isFiltered={isFiltered}
        empty="No lines yet. A function writes them by ctx.log, and they appear here at once."
        example={["ctx.log.info('order placed', { id: order.id })", 'Log line']}
        columns={[
          ['Time', ({ entry }) => <Time value={entry.time} />],
          ['Level', ({ entry }) => <Badge tone={toneOfLevel(entry.level)}>{entry.level}</Badge>],
          ['Function', ({ entry }) => functionOf(entry) ?? '–', 'minor'],
          ['Message', ({ entry }) => messageOf(entry), 'cut'],
          ['Fields', ({ entry }) => <code>{summarize(entry.attrs, shown)}</code>, 'cut', 'minor'],
          ['Request', ({ entry }) => <RequestLink id={entry.requestId} />, 'minor'],
        ]}
      />
    </>
  )
}

interface Attributes {
  readonly source?: unknown
  readonly function?: unknown
  readonly failure?: { readonly message?: unknown }
  readonly err?: { readonly type?: unknown; readonly function?: unknown; readonly message?: unknown }
}

/** Returns true for a line that functions have logged, and for the error of one. */
function isOfFunctions({ attrs }: LogEntry): boolean {
  const { source, err } = attrs as Attributes
  return source === 'functions' || err?.type === 'FunctionFailure'
}

function functionOf({ attrs }: LogEntry): string | undefined {
  const { function: own, err } = attrs as Attributes
  const name = own ?? err?.function
  return typeof name === 'string' ? name : undefined
}

function messageOf({ message, attrs }: LogEntry): string {
  const { failure, err } = attrs as Attributes
  const reason = failure?.message ?? err?.message
  return typeof reason === 'string' ? `${message}: ${reason}` : message
}

/** Members that other columns show. */
const shown = ['source', 'function', 'failure', 'err', 'operation', 'kind']
