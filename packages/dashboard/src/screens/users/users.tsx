import { Route, Switch } from 'wouter'
import { UserDetail } from './user-detail.tsx'
import { UserList } from './user-list.tsx'

export function UsersScreen() {
  return (
    <Switch>
      <Route path="/users">
        <UserList />
      </Route>
      <Route path="/users/:id">{({ id }) => <UserDetail key={id} id={id} />}</Route>
    </Switch>
  )
}
