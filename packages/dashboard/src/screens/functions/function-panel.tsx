import { Fragment } from 'react'
import { Link } from 'wouter'
import { usePermissions } from '../../api/administrator.ts'
import { useApi } from '../../api/queries.ts'
import { jobsLink, requestsLink } from '../../links.ts'
import { formatNumber } from '../../ui/format.ts'
import { Badge, KeyValue, Section } from '../../ui/layout.tsx'
import { SidePanel } from '../../ui/side-panel.tsx'
import { Loaded } from '../../ui/states.tsx'
import { queryPath } from '../activity/query-path.ts'
import { type Activity, type LoadedFunction, listErrors } from './api.ts'
import { accessOf, triggerOf } from './describe.ts'
import { ErrorItem } from './error-item.tsx'
import { RunForm } from './run-form.tsx'

interface FunctionPanelProps {
  readonly of: LoadedFunction
  readonly activity: Activity | undefined
  readonly onClose: () => void
}

export function FunctionPanel({ of: each, activity, onClose }: FunctionPanelProps) {
  const may = usePermissions()
  const { name, kind, file, timeout, retries } = each
  const access = accessOf(each)
  return (
    <SidePanel title={name} size="wide" onClose={onClose}>
      <KeyValue
        items={{
          Kind: <Badge>{kind}</Badge>,
          'Runs on': <code>{triggerOf(each)}</code>,
          ...(access && { Access: <Badge tone={access[1]}>{access[0]}</Badge> }),
          ...(each.admin === true && {
            Rights: <Badge tone="warning">may act as the administrator</Badge>,
          }),
          ...(each.as !== undefined && { 'Runs as': each.as }),
          File: <code>{file}</code>,
          ...(timeout !== undefined && { 'Time limit': `${timeout} s` }),
          ...(retries !== undefined && { Retries: retries }),
          ...(kind !== 'before' && {
            Calls: `${formatNumber(activity?.calls.hour ?? 0)} in the last hour, ${formatNumber(activity?.calls.day ?? 0)} in the last day`,
            Errors: `${formatNumber(activity?.errors.hour ?? 0)} in the last hour, ${formatNumber(activity?.errors.day ?? 0)} in the last day`,
          }),
          Records: <Records of={each} />,
        }}
      />
      {kind === 'route' && may('owner') && (
        <Section title="Run">
          <RunForm key={triggerOf(each)} of={each} />
        </Section>
      )}
      <LatestErrors name={name} />
    </SidePanel>
  )
}

/** Renders links to the records of the calls. */
function Records({ of: { name, kind, path = '', method, inbound, job } }: { readonly of: LoadedFunction }) {
  const may = usePermissions()
  const address = kind === 'inbound' ? `/inbound/${inbound}` : path.replace(/:[^/]+/g, '*')
  const links = [
    (kind === 'route' || kind === 'inbound') &&
      (['Requests', requestsLink({ path: `/api/functions${address}`, method: method ?? 'POST' })] as const),
    kind === 'job' && (['Jobs', jobsLink(job === undefined ? {} : { type: job })] as const),
    kind === 'schedule' && (['Jobs', jobsLink({ type: `function:${name}` })] as const),
    kind === 'after' && may('owner') && (['Deliveries', '/webhooks'] as const),
    may('bodies.read') && (['Log', queryPath('/functions/log', { function: name })] as const),
  ]
  return links
    .filter((link) => link !== false)
    .map(([label, href], index) => (
      <Fragment key={label}>
        {index > 0 && ' · '}
        <Link href={href}>{label}</Link>
      </Fragment>
    ))
}

function LatestErrors({ name }: { readonly name: string }) {
  const errors = useApi(['functions', 'errors', name, 'latest'], (signal) => listErrors(name, 5, signal), {
    refetchIntervalMs: 10_000,
  })
  return (
    <Section title="Latest errors">
      <Loaded query={errors}>
        {({ items }) =>
          items.length === 0 ? (
            <p>None in the last seven days.</p>
          ) : (
            items.map((error) => <ErrorItem key={`${error.time} ${error.requestId}`} error={error} />)
          )
        }
      </Loaded>
    </Section>
  )
}
