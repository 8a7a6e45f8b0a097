import { pino } from 'pino'
import { expect, test } from 'vitest'
import { waitFor } from '../../../../test/wait-for.ts'
import { inBackground, isInBackground } from '../../../database/pool/background.ts'
import { DueLoop } from './due-loop.ts'

test('a look that a job has woken has all connections, and not the quota of jobs', async () => {
  const looks: boolean[] = []
  const loop = new DueLoop({
    what: 'jobs',
    look: async () => {
      looks.push(isInBackground())
      return undefined
    },
    restMs: 1,
    log: pino({ level: 'silent' }),
  })
  loop.start()
  await waitFor('the first look', () => looks.length === 1)
  await inBackground(async () => {
    loop.wake()
    await waitFor('the look', () => looks.length === 2)
  })
  await loop.stop()
  expect(looks).toEqual([false, false])
})
