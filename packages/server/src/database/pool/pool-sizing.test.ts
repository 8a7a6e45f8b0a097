import { describe, expect, test } from 'vitest'
import { PoolMeter, sizePool } from './pool-sizing.ts'

describe('pool size', () => {
  test.each([
    { what: 'two cores beside the server', cores: 2, roundTripMs: 0.05, workMs: 0.6, eagerSize: 4 },
    { what: 'two cores under load', cores: 2, roundTripMs: 0.9, workMs: 1, eagerSize: 4 },
    { what: 'two cores 2 ms away', cores: 2, roundTripMs: 2, workMs: 2.5, eagerSize: 20 },
    { what: 'two cores 2 ms away with long statements', cores: 2, roundTripMs: 2, workMs: 18, eagerSize: 4 },
    { what: 'one core', cores: 1, roundTripMs: 0, workMs: 1, eagerSize: 2 },
    { what: '32 cores a millisecond away', cores: 32, roundTripMs: 1, workMs: 1.5, eagerSize: 192 },
    { what: 'unknown cores', cores: undefined, roundTripMs: 0, workMs: 1, eagerSize: 16 },
    { what: 'work that is quicker than the round trip', cores: 2, roundTripMs: 2, workMs: 1, eagerSize: 164 },
  ])('is $eagerSize of 500 connections for $what', ({ eagerSize, ...measurements }) => {
    expect(sizePool(measurements, 500).eagerSize).toBe(eagerSize)
  })

  test('never exceeds the connections that are allowed', () => {
    expect(sizePool({ roundTripMs: 5, workMs: 6, cores: 64 }, 16).eagerSize).toBe(16)
    expect(sizePool({ roundTripMs: 0, workMs: 1, cores: 2 }, 1).eagerSize).toBe(1)
  })

  test.each([
    [0.1, 1],
    [2, 2],
    [500, 3],
  ])('limits the grow delay for work of %d ms', (workMs, growDelayMs) => {
    expect(sizePool({ roundTripMs: 0, workMs, cores: 2 }, 16).growDelayMs).toBe(growDelayMs)
  })

  test('follows the quickest of the last round trips and the average of the work', () => {
    const meter = new PoolMeter(100, 2)
    expect(meter.sizing).toEqual({ eagerSize: 4, growDelayMs: 1 })
    meter.addRoundTrip(30)
    meter.addRoundTrip(2)
    for (let count = 0; count < 1000; count += 1) meter.addWork(4)
    expect(meter.sizing.eagerSize).toBe(8)
    expect(meter.sizing.growDelayMs).toBe(3)
    for (let count = 0; count < 24; count += 1) meter.addRoundTrip(0.01)
    expect(meter.sizing.eagerSize).toBe(4)
  })

  test.each([
    { what: 'on this machine', cores: 2, roundTrips: [0.9, 0.3], networkMs: 0 },
    { what: 'through a proxy on this machine', cores: 2, roundTrips: [9, 2.2], networkMs: 2.2 },
    { what: 'elsewhere', cores: undefined, roundTrips: [0.3, 0.4], networkMs: 0.3 },
  ])('measures for a database $what a network time of $networkMs ms', ({ cores, roundTrips, networkMs }) => {
    const meter = new PoolMeter(100, cores)
    for (const ms of roundTrips) meter.addRoundTrip(ms)
    expect(meter.networkMs).toBe(networkMs)
  })

  test('is not misled by work that waits for a lock', () => {
    const meter = new PoolMeter(100, 2)
    for (let count = 0; count < 1000; count += 1) meter.addWork(30_000)
    expect(meter.sizing.growDelayMs).toBeCloseTo(3)
  })
})
