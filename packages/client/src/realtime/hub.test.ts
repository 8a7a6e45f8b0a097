import { expect, test } from 'vitest'
import { createHub, type OnSourceEvent, type Subscriber } from './hub.ts'

test('a subscriber of one user is not connected by the stream of another', async () => {
  let identity = 'ada'
  let changed = () => {}
  const sources: OnSourceEvent[] = []
  const hub = createHub(
    (onEvent) => {
      sources.push(onEvent)
      return { want: () => undefined }
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
    forget: () => received.push(`${name} forget`),
  })
  hub.subscribe(subscriber('first', ['task']))
  await Promise.resolve()
  sources[0]?.({ type: 'connected', id: '1' })
  hub.subscribe(subscriber('second', ['task']))
  identity = 'bob'
  changed()
  await Promise.resolve()
  expect(received).toEqual(['first connected', 'first forget', 'second forget'])
  sources[1]?.({ type: 'connected', id: '2' })
  expect(received.slice(3)).toEqual(['first connected', 'second connected'])
})
