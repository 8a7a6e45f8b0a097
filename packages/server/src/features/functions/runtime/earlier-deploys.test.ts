import pino from 'pino'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { EarlierDeploys, type EarlierHost } from './earlier-deploys.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
afterEach(() => void vi.useRealTimers())

/** Loads deploys without processes. The delays are ends of pauses. */
function createHost(onLoad: () => void) {
  const state = { loaded: [] as string[], earlier: undefined as string | undefined, isRetiring: false }
  const delays = new Map<string, number>()
  const host: EarlierHost = {
    isUsed: true,
    deploy: 'live',
    get earlierDeploy() {
      return state.earlier
    },
    isEarlierIdle: true,
    get isRetiring() {
      return state.isRetiring
    },
    mayHaveJob: () => true,
    earlierDelayMs: (deploy) => Math.max(0, (delays.get(deploy) ?? 0) - performance.now()),
    async loadEarlier(write, deploy) {
      state.loaded.push(deploy)
      try {
        await write()
      } catch (error) {
        delays.set(deploy, performance.now() + 60_000)
        throw error
      }
      state.earlier = deploy
      onLoad()
    },
    endEarlier() {
      state.earlier = undefined
      onLoad()
    },
  }
  return { host, state }
}

function open(writeFolder: (hash: string) => Promise<string> = async (hash) => hash) {
  const { host, state } = createHost(() => deploys.check())
  const deploys: EarlierDeploys = new EarlierDeploys({
    ...{ host, writeFolder, liveHash: () => 'live', log: pino({ enabled: false }) },
  })
  return { deploys, state }
}

const due = (...names: string[]) => JSON.stringify(names.map((name) => [name, 'job']))

test('ends a deploy that always has due jobs for each of the others', async () => {
  const { deploys, state } = open()
  deploys.update(due('a', 'b', 'c'))
  await vi.advanceTimersByTimeAsync(100_000)
  expect(state.loaded).toEqual(['a', 'b', 'c', 'a'])
  // A job of the one before still runs, so a third process would start.
  state.isRetiring = true
  await vi.advanceTimersByTimeAsync(100_000)
  expect(state.loaded).toHaveLength(4)
  state.isRetiring = false
  await vi.advanceTimersByTimeAsync(1000)
  expect(state.loaded).toEqual(['a', 'b', 'c', 'a', 'b'])
  deploys.stop()
})

test('loads others while a deploy that cannot be written waits', async () => {
  const { deploys, state } = open(async (hash) => {
    if (hash === 'torn') throw new Error('damaged')
    return hash
  })
  deploys.update(due('torn', 'a'))
  await vi.advanceTimersByTimeAsync(1000)
  expect(state.loaded).toEqual(['torn', 'a'])
  deploys.update(due('torn'))
  await vi.advanceTimersByTimeAsync(50_000)
  expect(state.loaded).toEqual(['torn', 'a'])
  await vi.advanceTimersByTimeAsync(20_000)
  expect(state.loaded).toEqual(['torn', 'a', 'torn'])
  deploys.stop()
})
