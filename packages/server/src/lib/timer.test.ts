import { once } from 'node:events'
import { connect } from 'node:net'
import { Worker } from 'node:worker_threads'
import { expect, test } from 'vitest'
import { whenLate } from './timer.ts'

/** Answers each request as soon as it comes, on a thread of its own. */
const echo = `
  const server = require('node:net').createServer((socket) => socket.pipe(socket))
  server.listen(0, '127.0.0.1', () => require('node:worker_threads').parentPort.postMessage(server.address().port))`

test('what came while the process was busy is not late', async () => {
  const worker = new Worker(echo, { eval: true })
  const [port] = await once(worker, 'message')
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  const outcomes: string[] = []
  const cancel = whenLate(10, () => outcomes.push('late'))
  const answered = once(socket, 'data').then(() => {
    cancel()
    outcomes.push('answered')
  })
  socket.write('x')
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500)
  await answered
  await new Promise((resolve) => setTimeout(resolve, 20))
  expect(outcomes).toEqual(['answered'])
  socket.destroy()
  await worker.terminate()
})

test('what does not come is late, once, and not after it was cancelled', async () => {
  const outcomes: string[] = []
  const cancel = whenLate(1, () => outcomes.push('cancelled'))
  const { promise, resolve } = Promise.withResolvers<void>()
  whenLate(5, () => {
    outcomes.push('late')
    resolve()
  })
  cancel()
  await promise
  await new Promise((resolve) => setTimeout(resolve, 10))
  expect(outcomes).toEqual(['late'])
})
