import { describe, expect, test } from 'vitest'
import { Breaker, type Permit } from './breaker.ts'

function create() {
  const time = { ms: 0 }
  const breaker = new Breaker({ failureThreshold: 3, openSeconds: 30, probeLimit: 1 }, { now: () => time.ms })
  return { breaker, time }
}

function require(permit: Permit | undefined): Permit {
  if (permit === undefined) throw new Error('the breaker let nothing through')
  return permit
}

function open({ breaker }: ReturnType<typeof create>) {
  for (let failure = 0; failure < 3; failure += 1) require(breaker.enter()).failed()
}

describe('circuit breaker', () => {
  test('opens after the configured number of consecutive failures', () => {
    const { breaker } = create()
    require(breaker.enter()).failed()
    require(breaker.enter()).failed()
    require(breaker.enter()).succeeded()
    require(breaker.enter()).failed()
    require(breaker.enter()).failed()
    expect(breaker.secondsClosedOff).toBe(0)
    require(breaker.enter()).failed()
    expect(breaker.enter()).toBeUndefined()
    expect(breaker.secondsClosedOff).toBe(30)
  })

  test('reports whether it is open, and when a request may probe the provider', () => {
    const created = create()
    const { breaker, time } = created
    expect(breaker.state).toBe('closed')
    open(created)
    expect(breaker.state).toBe('open')
    time.ms = 30_000
    expect([breaker.state, breaker.secondsClosedOff]).toEqual(['half-open', 0])
    require(breaker.enter()).succeeded()
    expect(breaker.state).toBe('closed')
  })

  test('lets one request through when its time is over, whose success closes it', () => {
    const created = create()
    open(created)
    const { breaker, time } = created
    time.ms = 29_999
    expect(breaker.enter()).toBeUndefined()
    time.ms = 30_000
    const probe = require(breaker.enter())
    expect(breaker.enter()).toBeUndefined()
    probe.succeeded()
    require(breaker.enter()).failed()
    require(breaker.enter()).failed()
    expect(breaker.enter()).toBeDefined()
  })

  test('opens again when that request fails', () => {
    const created = create()
    open(created)
    const { breaker, time } = created
    time.ms = 31_000
    require(breaker.enter()).failed()
    expect(breaker.enter()).toBeUndefined()
    expect(breaker.secondsClosedOff).toBe(30)
  })

  test('gives the slot of a canceled probe to the next request', () => {
    const created = create()
    open(created)
    const { breaker, time } = created
    time.ms = 31_000
    require(breaker.enter()).released()
    require(breaker.enter()).succeeded()
    expect(breaker.enter()).toBeDefined()
  })

  test('ignores results of requests from before it opened', () => {
    const created = create()
    const { breaker, time } = created
    const slow = require(breaker.enter())
    const late = require(breaker.enter())
    open(created)
    slow.succeeded()
    expect(breaker.enter()).toBeUndefined()
    time.ms = 31_000
    const probe = require(breaker.enter())
    late.failed()
    expect(breaker.enter()).toBeUndefined()
    probe.succeeded()
    expect(breaker.enter()).toBeDefined()
  })
})
