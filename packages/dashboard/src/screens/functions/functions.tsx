import { useLocation, useRoute } from 'wouter'
import { usePermissions } from '../../api/administrator.ts'
import { useApi } from '../../api/queries.ts'
import { formatNumber } from '../../ui/format.ts'
import { Badge, Notice, PageHeader } from '../../ui/layout.tsx'
import { List } from '../../ui/list.tsx'
import { Time } from '../../ui/time.tsx'
import { type Activity, type LoadedFunctions, listFunctions, readActivity } from './api.ts'
import { accessOf, triggerOf } from './describe.ts'
import { Frames } from './frames.tsx'
import { FunctionPanel } from './function-panel.tsx'
import styles from './functions.module.css'

const first = `import { route } from '@basaltdb/functions'

export const hello = route('GET /hello', { access: 'anonymous' }, () => 'Hello')`

export function FunctionsScreen() {
  const [, params] = useRoute('/functions/of/:name')
  const [, navigate] = useLocation()
  const functions = useApi(['functions', 'list'], listFunctions, { refetchIntervalMs: 3000 })
  const activity = useApi(['functions', 'activity'], readActivity, { refetchIntervalMs: 30_000 })
  const counts = new Map(activity.data?.items.map((each) => [each.name, each]))
  const shown = functions.data?.items.find(({ name }) => name === params?.name)
  return (
    <>
      <PageHeader
        title="Functions"
        asCode={{
          request: { method: 'GET', path: '/api/admin/functions' },
          command: 'basalt functions list',
        }}
      >
        Your own code on the server. {functions.data !== undefined && <Source functions={functions.data} />}
      </PageHeader>
      {functions.data !== undefined && <State functions={functions.data} />}
      <List
        caption="Functions"
        of={functions}
        rowKey={({ name }) => name}
        href={({ name }) => `/functions/of/${encodeURIComponent(name)}`}
        selectedKey={params?.name}
        empty="No functions yet. A function is TypeScript in the folder functions of your project, and runs on the server as its caller, in one transaction."
        example={[first, 'First function']}
        first={['How to deploy', '/functions/deploys', 'operations.read']}
        columns={[
          ['Name', ({ name }) => name],
          ['Kind', ({ kind }) => <Badge>{kind}</Badge>, 'minor'],
          ['Runs on', (each) => <code>{triggerOf(each)}</code>, 'cut', 'minor'],
          [
            'Access',
            (each) => {
              const access = accessOf(each)
              return access === undefined ? '–' : <Badge tone={access[1]}>{access[0]}</Badge>
            },
            'minor',
          ],
          ['File', ({ file }) => <code>{file}</code>, 'minor'],
          [
            'Calls, 24 h',
            ({ name, kind }) => (kind === 'before' ? '–' : formatNumber(counts.get(name)?.calls.day ?? 0)),
            'end',
          ],
          ['Errors, 24 h', ({ name }) => <ErrorCount activity={counts.get(name)} />, 'end'],
        ]}
      >
        {activity.data?.isComplete === false && (
          <p className={styles.note}>
            There were more calls than are counted here, so the numbers are lower bounds.
          </p>
        )}
      </List>
      {shown !== undefined && (
        <FunctionPanel
          key={shown.name}
          of={shown}
          activity={counts.get(shown.name)}
          onClose={() => navigate('/functions')}
        />
      )}
    </>
  )
}

/** Renders the origin of the code. */
function Source({ functions: { source, deploy } }: { readonly functions: LoadedFunctions }) {
  if (source === 'folder') return <>Read from the folder of this machine.</>
  return deploy === null ? null : (
    <>
      Deploy <code title={deploy}>{deploy.slice(0, 12)}</code> is live.
    </>
  )
}

/** Renders a failed load, or a process that restarts. */
function State({ functions: { failure, isAvailable, count } }: { readonly functions: LoadedFunctions }) {
  const mayRead = usePermissions()('bodies.read')
  if (failure === null) {
    return isAvailable || count === 0 ? null : (
      <Notice tone="warning">
        The process of the functions is restarting. Calls get status 503 meanwhile.
      </Notice>
    )
  }
  const lines = failure.reason?.split('\n') ?? []
  // The positions of the stack follow below.
  const reason = failure.frames.length === 0 ? lines : lines.filter((line) => !/^ +at /.test(line))
  return (
    <Notice tone="danger">
      <p role="alert">
        <strong>The newest code could not be loaded</strong> (<Time value={failure.failedAt} />
        ).{count > 0 && ' The previous functions are served.'}
      </p>
      {mayRead ? (
        <>
          <pre className={styles.reason}>{reason.join('\n')}</pre>
          <Frames frames={failure.frames} since={failure.failedAt} />
        </>
      ) : (
        <p>Your role cannot read the reason.</p>
      )}
    </Notice>
  )
}

function ErrorCount({ activity }: { readonly activity: Activity | undefined }) {
  const count = activity?.errors.day ?? 0
  return count === 0 ? <>0</> : <Badge tone="danger">{formatNumber(count)}</Badge>
}
