import { Route, Switch } from 'wouter'
import { AppDetail } from './app-detail.tsx'
import { AppList } from './app-list.tsx'

export function AppsScreen() {
  return (
    <Switch>
      <Route path="/apps">
        <AppList />
      </Route>
      <Route path="/apps/:id">{({ id }) => <AppDetail key={id} id={id} />}</Route>
    </Switch>
  )
}
