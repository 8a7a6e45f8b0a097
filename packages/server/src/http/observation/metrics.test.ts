import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { waitFor } from '../../../test/wait-for.ts'
import { Metrics } from './metrics.ts'

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')

test('metrics › does not hold a closed server in memory through the observers of the process', async () => {
  const create = () => {
    const stats = () => ({ busy: 0, idle: 0, waiting: 0 })
    new Metrics().watchPool(stats, () => 4)
    return new WeakRef(stats)
  }
  const ofServer = create()
  expect(ofServer.deref()?.()).toEqual({ busy: 0, idle: 0, waiting: 0 })
  await waitFor('what the metrics show to be collected', () => {
    collectGarbage()
    return ofServer.deref() === undefined
  })
})
