import { expect, test } from 'vitest'
import { chooseSeed, Life } from '../../../../../test/account-life.ts'
import { createAccountNodes } from '../../../../../test/account-nodes.ts'

/** Number of simulations that run side by side, each with its own users. */
const lives = 8
const stepsPerLife = 1250
const seed = chooseSeed()

test('accounts › ten thousand random steps on two nodes match the model', async () => {
  const names = Array.from({ length: lives }, (_, index) => String(1000 + index))
  await using nodes = await createAccountNodes({
    config: {
      'auth.sms_test_phone_numbers': names.map((name) => `+1202555${name}=123456`).join(','),
      'auth.limits.mails_per_hour': '10000',
      'auth.limits.login_failures': '100000',
    },
  })
  const adminToken = await nodes.first.app.adminToken()
  const running = names.map(async (name, index) => {
    const life = new Life(nodes, { name, seed: seed + index, adminToken })
    await life.run(stepsPerLife).catch((error) => {
      throw new Error(`seed ${seed}, life ${index}, ${error.message}`)
    })
    return life
  })
  const done = await Promise.all(running)
  // The steps had effects: users signed in, sessions ended, and some of both remain.
  const sessions = done.flatMap((life) => life.sessions)
  expect(sessions.length).toBeGreaterThan(lives * 50)
  expect(sessions.filter(({ ended }) => ended !== undefined).length).toBeGreaterThan(lives * 25)
}, 300_000)
