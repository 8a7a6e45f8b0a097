import { Route, Switch } from 'wouter'
import { decodeSegment } from '../../path-segment.ts'
import { PageHeader } from '../../ui/layout.tsx'
import { ClientDetail } from './client-detail.tsx'
import { ClientTable } from './client-table.tsx'

export function OAuthClientsScreen() {
  return (
    <Switch>
      <Route path="/oauth-clients">
        <PageHeader
          title="OAuth clients"
          asCode={{ request: { method: 'GET', path: '/api/admin/oauth/clients' } }}
        >
          Third-party programs to which users grant access.
        </PageHeader>
        <ClientTable />
      </Route>
      <Route path="/oauth-clients/*">
        {/* A client id may be a URL, so it is everything after the path. */}
        {(parameters) => {
          const clientId = decodeSegment(parameters['*'])
          return <ClientDetail key={clientId} clientId={clientId} />
        }}
      </Route>
    </Switch>
  )
}
