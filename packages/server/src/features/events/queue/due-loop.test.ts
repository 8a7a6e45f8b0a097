import { pino } from 'pino'
import { expect, test } from 'vitest'
import { waitFor } from '../../../../test/wait-for.ts'
import { inBackground, isInBackground } from '../../../database/pool/background.ts'
import { DueLoop } from './due-loop.ts'

test('due loop › polls outside the connection quota of the job that woke it', async () => {
  const polls: boolean[] = []
  const loop = new DueLoop({
    name: 'jobs',
    poll: async () => {
      polls.push(isInBackground())
      return undefined
    },
    wakeDelayMs: 1,
    isLeading: () => true,
    log: pino({ level: 'silent' }),
  })
  loop.start()
  await waitFor('the first poll', () => polls.length === 1)
  await inBackground(async () => {
    loop.wake()
    await waitFor('the second poll', () => polls.length === 2)
  })
  await loop.stop()
  expect(polls).toEqual([false, false])
})
