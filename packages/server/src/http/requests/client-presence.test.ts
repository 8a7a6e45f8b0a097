import createFastify from 'fastify'
import { expect, test } from 'vitest'
import { openRaw } from '../../../test/raw-http.ts'
import { waitFor } from '../../../test/wait-for.ts'
import { clientSignal, trackClients } from './client-presence.ts'

test('client signal › is aborted for the request whose client disconnects, at any call depth, and for no other', async () => {
  const app = createFastify()
  trackClients(app)
  const signals = new Map<string, AbortSignal | undefined>()
  let release: () => void = () => undefined
  const released = new Promise<void>((resolve) => (release = resolve))
  app.post('/:name', async ({ params }) => {
    await Promise.resolve()
    signals.set((params as { name: string }).name, clientSignal())
    await released
    return ''
  })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  const [leaving, staying] = ['leaving', 'staying'].map((name) => {
    const connection = openRaw(url)
    connection.write(`POST /${name} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
    return connection
  })
  await waitFor('both', () => signals.size === 2)
  leaving?.socket.destroy()
  await waitFor('the disconnect', () => signals.get('leaving')?.aborted)
  expect(signals.get('staying')?.aborted).toBe(false)
  release()
  await staying?.ended
  // A client that received the whole response has not disconnected early.
  expect(signals.get('staying')?.aborted).toBe(false)
  expect(clientSignal()).toBeUndefined()
  await app.close()
})
