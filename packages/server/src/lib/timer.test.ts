import { once } from 'node:events'
import { connect } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { expect, test } from 'vitest'
import { whenLate } from './timer.ts'

/** Server that responds to each request at once, on a thread of its own, and then signals it. */
const echo = `
  const { parentPort, workerData } = require('node:worker_threads')
  const server = require('node:net').createServer((socket) => {
    socket.on('data', (data) => socket.write(data, () => {
      Atomics.store(workerData, 0, 1)
      Atomics.notify(workerData, 0)
    }))
  })
  server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port))`

test('timer › does not call late what arrived while the process was blocked', async () => {
  const hasAnswered = new Int32Array(new SharedArrayBuffer(4))
  const worker = new Worker(echo, { eval: true, workerData: hasAnswered })
  const [port] = await once(worker, 'message')
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  const outcomes: string[] = []
  const cancel = whenLate(1, () => outcomes.push('late'))
  const answered = once(socket, 'data').then(() => {
    cancel()
    outcomes.push('answered')
  })
  socket.write('x')
  // The process blocks until the response has arrived and the delay is over.
  Atomics.wait(hasAnswered, 0, 0)
  for (const since = performance.now(); performance.now() - since < 5; );
  await answered
  for (let turn = 0; turn < 3; turn += 1) await nextTurn()
  expect(outcomes).toEqual(['answered'])
  socket.destroy()
  await worker.terminate()
})

test('timer › calls late once when nothing arrives, and never after a cancellation', async () => {
  const outcomes: string[] = []
  const cancel = whenLate(1, () => outcomes.push('cancelled'))
  whenLate(2, () => outcomes.push('late'))
  cancel()
  await new Promise<void>((resolve) => whenLate(10, resolve))
  expect(outcomes).toEqual(['late'])
})
