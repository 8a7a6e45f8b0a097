import { pino } from 'pino'
import { expect, test } from 'vitest'
import { OperatorError } from '../lib/errors.ts'
import { type Reload, Reloads } from './reloads.ts'

const result = { workers: 2, version: '1.0.0' }

/** Starts reloads whose ends the test decides. */
function startReloads() {
  const runs: PromiseWithResolvers<typeof result>[] = []
  const states: Omit<Reload, 'at'>[] = []
  const reloads = new Reloads({
    log: pino({ enabled: false }),
    run: () => {
      const run = Promise.withResolvers<typeof result>()
      runs.push(run)
      return run.promise
    },
    onChange: ({ at: _, ...state }) => states.push(state),
  })
  const settle = () => new Promise((resolve) => setImmediate(resolve))
  return { reloads, runs, states, settle }
}

test('reloads › run one at a time, and once more for all requests meanwhile', async () => {
  const { reloads, runs, states, settle } = startReloads()
  for (let request = 0; request < 3; request += 1) reloads.request()
  expect(runs).toHaveLength(1)
  runs[0]?.resolve(result)
  await settle()
  expect(runs).toHaveLength(2)
  runs[1]?.resolve(result)
  await settle()
  expect(runs).toHaveLength(2)
  expect(states).toEqual([
    { number: 1, state: 'running' },
    { number: 1, state: 'done', ...result },
    { number: 2, state: 'running' },
    { number: 2, state: 'done', ...result },
  ])
})

test('reloads › report the reason of a failure, and run again on request', async () => {
  const { reloads, runs, states, settle } = startReloads()
  reloads.request()
  runs[0]?.reject(new OperatorError('restart needed'))
  await settle()
  reloads.request()
  runs[1]?.resolve(result)
  await settle()
  expect(states).toEqual([
    { number: 1, state: 'running' },
    { number: 1, state: 'failed', reason: 'restart needed' },
    { number: 2, state: 'running' },
    { number: 2, state: 'done', ...result },
  ])
})
