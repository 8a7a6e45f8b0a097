import { expect, test } from 'vitest'
import { BasaltError } from '../errors.ts'
import { createHub, type OnSourceEvent, type Subscriber } from './hub.ts'

test('realtime hub › does not connect a subscriber over the stream of another user', async () => {
  let identity = 'ada'
  let changed = () => {}
  const sources: OnSourceEvent[] = []
  const hub = createHub(
    (onEvent) => {
      sources.push(onEvent)
      return { setTables: () => undefined }
    },
    {
      identity: () => identity,
      subscribe(listener) {
        changed = listener
        return () => undefined
      },
    },
  )
  const received: string[] = []
  const subscriber = (name: string, tables: readonly string[]): Subscriber => ({
    tables,
    connected: () => received.push(`${name} connected`),
    change: () => undefined,
    disconnected: () => undefined,
    failed: () => undefined,
    reset: () => received.push(`${name} reset`),
  })
  hub.subscribe(subscriber('first', ['task']))
  await Promise.resolve()
  sources[0]?.({ type: 'connected', id: '1' })
  hub.subscribe(subscriber('second', ['task']))
  identity = 'bob'
  changed()
  await Promise.resolve()
  expect(received).toEqual(['first connected', 'first reset', 'second reset'])
  sources[1]?.({ type: 'connected', id: '2' })
  expect(received.slice(3)).toEqual(['first connected', 'second connected'])
})

test('realtime hub › fails a table whose name the server reads as two, and continues the others', async () => {
  const wanted: string[] = []
  const hub = createHub(
    (onEvent) => ({
      setTables(tables) {
        wanted.push(tables.join())
        const error = new BasaltError('unknown table: a', {
          error: 'unknown_table',
          status: 400,
          data: { table: 'a' },
        })
        const event = tables.includes('a,b')
          ? { type: 'failed' as const, error }
          : { type: 'connected' as const, id: '1' }
        if (wanted.length < 9) queueMicrotask(() => onEvent(event))
      },
    }),
    {},
  )
  const calls: string[] = []
  const subscriber = (table: string) => ({
    tables: [table],
    connected: () => calls.push(`${table} connected`),
    failed: () => calls.push(`${table} failed`),
    change: () => undefined,
    disconnected: () => undefined,
    reset: () => undefined,
  })
  hub.subscribe(subscriber('a,b'))
  hub.subscribe(subscriber('c'))
  await new Promise(setImmediate)
  expect([wanted, calls]).toEqual([
    ['a,b,c', 'c'],
    ['a,b failed', 'c connected'],
  ])
})
