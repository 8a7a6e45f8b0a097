import { rmSync } from 'node:fs'
import { pino } from 'pino'
import { loadConfig } from '../packages/server/src/configuration.ts'
import { Notifications } from '../packages/server/src/database/notifications/notifications.ts'
import { openDatabase } from '../packages/server/src/database/open.ts'
import { createJobQueue } from '../packages/server/src/features/events/jobs/index.ts'
import { createDirectory, startServer } from './server.ts'

/** Measures the overhead of a job, and the delay until a node begins one that another node has added. */
const jobs = 5000
const target = 1000
const samples = 50
const startTargetMs = 100

const directory = createDirectory()
const server = await startServer(directory)
const open = async (isWorking: boolean) => {
  const { config } = loadConfig({ directory, env: {}, flags: {} })
  const database = await openDatabase(config, {
    purpose: 'bench:jobs',
    asServer: false,
    log: () => undefined,
  })
  const log = pino({ level: 'warn' })
  const notifications = new Notifications({
    database: database.system,
    openListener: database.openListener,
    log,
  })
  const queue = createJobQueue({
    database: database.system,
    notifications,
    isWorking,
    concurrency: config.jobs.concurrency,
    stopTimeout: 5,
    log,
  })
  return { database, notifications, queue }
}
const worker = await open(true)
const adder = await open(false)
let begun = Promise.withResolvers<void>()
let left = 1
for (const { queue } of [worker, adder]) {
  queue.define({
    name: 'bench.small',
    retry: { attempts: 1, delay: 1, delayMax: 1, backoff: 1 },
    timeout: 60,
    handle: async () => {
      left -= 1
      if (left === 0) begun.resolve()
    },
  })
}
try {
  await adder.notifications.start()
  left = jobs
  for (let n = 0; n < jobs; n += 500) {
    await adder.database.system.transaction(async (transaction) => {
      for (let m = 0; m < 500; m += 1) await adder.queue.enqueue('bench.small', {}, transaction)
    })
  }
  const begunAt = performance.now()
  await worker.queue.start()
  await worker.notifications.start()
  await begun.promise
  const rate = jobs / ((performance.now() - begunAt) / 1000)
  console.log(
    `small jobs on one node  ${rate.toFixed(0)}/s (target ${target}: ${rate >= target ? 'reached' : 'missed'})`,
  )
  const waits: number[] = []
  for (let sample = 0; sample < samples; sample += 1) {
    left = 1
    begun = Promise.withResolvers()
    // A random delay, so that it is not in step with a polling interval.
    await new Promise((resolve) => setTimeout(resolve, 100 + Math.random() * 200))
    const addedAt = performance.now()
    await adder.queue.enqueue('bench.small', {})
    await begun.promise
    waits.push(performance.now() - addedAt)
  }
  waits.sort((one, other) => one - other)
  const median = waits[samples / 2] ?? 0
  console.log(
    `a job of another node begins after  ${median.toFixed(0)} ms (median), ${(waits.at(-1) ?? 0).toFixed(0)} ms (longest) (target ${startTargetMs} ms: ${median <= startTargetMs ? 'reached' : 'missed'})`,
  )
} finally {
  await worker.queue.stop()
  await worker.notifications.stop()
  await adder.notifications.stop()
  await worker.database.close()
  await adder.database.close()
  server.process.kill('SIGTERM')
  await new Promise((resolve) => server.process.once('exit', resolve))
  rmSync(directory, { recursive: true, force: true })
}
