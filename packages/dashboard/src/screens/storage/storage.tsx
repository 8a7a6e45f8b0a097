import { Route, Switch } from 'wouter'
import { decodeSegment } from '../../path-segment.ts'
import { BucketView } from './bucket-view.tsx'
import { BucketsView } from './buckets-view.tsx'

export function StorageScreen() {
  return (
    <Switch>
      <Route path="/storage/:bucket">
        {({ bucket }) => <BucketView key={bucket} bucket={decodeSegment(bucket)} />}
      </Route>
      <Route>
        <BucketsView />
      </Route>
    </Switch>
  )
}
