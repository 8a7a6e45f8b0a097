import { Route, Switch } from 'wouter'
import { decodeSegment } from '../../path-segment.ts'
import { DomainsView } from './domains-view.tsx'
import { SiteView } from './site-view.tsx'
import { SitesView } from './sites-view.tsx'

export function SitesScreen() {
  return (
    <Switch>
      <Route path="/sites/domains">
        <DomainsView />
      </Route>
      <Route path="/sites/:id">{({ id }) => <SiteView key={id} id={decodeSegment(id)} />}</Route>
      <Route>
        <SitesView />
      </Route>
    </Switch>
  )
}
