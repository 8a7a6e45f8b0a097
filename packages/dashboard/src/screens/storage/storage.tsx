import { Route, Switch } from 'wouter'
import { BucketView } from './bucket-view.tsx'
import { BucketsView } from './buckets-view.tsx'

export function StorageScreen() {
  return (
    <Switch>
      <Route path="/storage/:bucket">
        {({ bucket }) => <BucketView key={bucket} bucket={decodeURIComponent(bucket)} />}
      </Route>
      <Route>
        <BucketsView />
      </Route>
    </Switch>
  )
}
