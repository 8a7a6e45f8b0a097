import { useState } from 'react'
import { useApi } from '../../api/queries.ts'
import { Button } from '../../ui/button.tsx'
import { ConfirmAction } from '../../ui/confirm-dialog.tsx'
import { RowActions } from '../../ui/data-table.tsx'
import { formatBytes, formatNumber } from '../../ui/format.ts'
import { Badge, PageHeader } from '../../ui/layout.tsx'
import { List } from '../../ui/list.tsx'
import { Time } from '../../ui/time.tsx'
import { type Deploy, listDeploys, promoteDeploy, rollBack } from './api.ts'

export function FunctionDeploysScreen() {
  const deploys = useApi(['functions', 'deploys'], listDeploys, { refetchIntervalMs: 5000 })
  const [promoting, setPromoting] = useState<Deploy>()
  const [isRollingBack, setRollingBack] = useState(false)
  const previous = deploys.data?.items.find(({ isPrevious }) => isPrevious)
  const again = { invalidates: [['functions']] }
  return (
    <>
      <PageHeader
        title="Deploys of functions"
        asCode={{
          request: { method: 'GET', path: '/api/admin/functions/deploys' },
          command: 'basalt functions deploy',
        }}
        actions={
          previous !== undefined && (
            <Button needs="change" onClick={() => setRollingBack(true)}>
              Roll back
            </Button>
          )
        }
      >
        Versions of your functions with their packages. Every node runs the live one.
      </PageHeader>
      <List
        caption="Deploys of functions"
        of={deploys}
        rowKey={({ hash }) => hash}
        empty="No deploys yet. Without one, a server runs the folder functions of its own machine. A deploy runs on every node."
        example={['npx basalt functions deploy', 'Deploy command']}
        columns={[
          ['Deploy', ({ hash }) => <code title={hash}>{hash.slice(0, 12)}</code>],
          [
            'State',
            ({ isLive, promotedAt }) =>
              isLive ? (
                <Badge tone="ok">live</Badge>
              ) : (
                <Badge>{promotedAt === null ? 'never live' : 'replaced'}</Badge>
              ),
          ],
          ['Function files', ({ functionFiles }) => functionFiles.join(', '), 'cut', 'minor'],
          ['Files', ({ fileCount }) => formatNumber(fileCount), 'end', 'minor'],
          ['Size', ({ totalBytes }) => formatBytes(totalBytes), 'end'],
          ['Created', ({ createdAt }) => <Time value={createdAt} />, 'minor'],
          ['Last made live', ({ promotedAt }) => <Time value={promotedAt} />],
          ['By', ({ promotedBy }) => promotedBy ?? '–', 'minor'],
          [
            'Actions',
            (deploy) => (
              <RowActions
                of={deploy.hash.slice(0, 12)}
                actions={[!deploy.isLive && ['Make live', () => setPromoting(deploy)]]}
              />
            ),
            'actions',
          ],
        ]}
      />
      {promoting !== undefined && (
        <ConfirmAction
          title="Make deploy live"
          action="Make live"
          isDangerous={false}
          send={() => promoteDeploy(promoting.hash)}
          {...again}
          done="The deploy is live."
          onClose={() => setPromoting(undefined)}
        >
          Every node runs <code>{promoting.hash.slice(0, 12)}</code> within a second. Calls in flight end in
          the code in which they began.
        </ConfirmAction>
      )}
      {isRollingBack && previous !== undefined && (
        <ConfirmAction
          title="Roll back"
          action="Roll back"
          send={rollBack}
          {...again}
          done={({ hash }) => `${hash.slice(0, 12)} is live.`}
          onClose={() => setRollingBack(false)}
        >
          Makes <code>{previous.hash.slice(0, 12)}</code> live again. The replaced deploy can be made live
          again for a day. Changes of the database are not undone.
        </ConfirmAction>
      )}
    </>
  )
}
