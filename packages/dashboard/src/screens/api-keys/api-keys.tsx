import { useSearchParams } from 'wouter'
import { Button } from '../../ui/button.tsx'
import { PageHeader, Toolbar } from '../../ui/layout.tsx'
import { KeyTable } from './key-table.tsx'

export function ApiKeysScreen() {
  const [parameters, setParameters] = useSearchParams()
  const userId = parameters.get('userId') ?? undefined
  const appId = parameters.get('appId') ?? undefined
  return (
    <>
      <PageHeader
        title="API keys"
        asCode={{ request: { method: 'GET', path: `/api/admin/api-keys?${parameters}` } }}
      >
        Programs authenticate with a key and act as its user, within its scope and tables. Further actions,
        such as sending mail, are granted here.
      </PageHeader>
      {(userId !== undefined || appId !== undefined) && (
        <Toolbar label="Filters">
          <Button onClick={() => setParameters({}, { replace: true })}>
            {userId === undefined ? `App ${appId}` : `User ${userId}`} ×
          </Button>
        </Toolbar>
      )}
      <KeyTable userId={userId} appId={appId} />
    </>
  )
}
