import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { jobType, openTestQueue } from '../../../../../test/job-queues.ts'
import { createTestApp, type TestApp, type TestResponse } from '../../../../../test/test-app.ts'
import { waitFor } from '../../../../../test/wait-for.ts'
import { JobRefused, type RunningJob } from '../../../../job-queue.ts'

let app: TestApp

beforeAll(async () => {
  app = await createTestApp()
  // So that the first look at a job is not late.
  await app.adminToken()
})
afterAll(() => app[Symbol.asyncDispose]())

async function ask(method: string, path: string): Promise<TestResponse> {
  return await app.request(method, `/api/admin/jobs${path}`, { token: await app.adminToken() })
}

async function waitForState(id: string, state: string, timeoutMs?: number) {
  return await waitFor(
    `job ${id} to be ${state}`,
    async () => {
      const { json } = await ask('GET', `/${id}`)
      return json.state === state && json
    },
    timeoutMs,
  )
}

/** A promise and what settles it. */
function gate() {
  return Promise.withResolvers<void>()
}

/** As if its worker had been silent for a while. */
async function loseLease(id: string): Promise<void> {
  await app.sql("update basalt.jobs set leased_until = now() - interval '1 s' where id = $1", [id])
}

describe('a job', () => {
  test('that fails is tried again, and then has failed with its last error', async () => {
    const attempts: number[] = []
    const type = jobType('test.fails', async (_payload, { attempt }) => {
      attempts.push(attempt)
      throw new Error(`failure ${attempt}`)
    })
    await using queue = await openTestQueue(app, [type])
    const id = await queue.enqueue(type.name, {})
    const waiting = await waitFor('the first failure', async () => {
      const { json } = await ask('GET', `/${id}`)
      return json.lastError === 'failure 1' && json
    })
    expect(waiting).toMatchObject({ state: 'queued', attempts: 1, maxAttempts: 3 })
    expect(Date.parse(waiting.runAt)).toBeGreaterThan(Date.parse(waiting.lastRunAt))
    const failed = await waitForState(id, 'failed')
    expect(failed).toMatchObject({ attempts: 3, maxAttempts: 3, lastError: 'failure 3' })
    expect(attempts).toEqual([1, 2, 3])

    // Retried by hand it has all its attempts again.
    expect((await ask('POST', `/${id}/retry`)).json).toMatchObject({ attempts: 0, maxAttempts: 3 })
    queue.wake()
    expect(await waitForState(id, 'failed')).toMatchObject({ attempts: 3, maxAttempts: 3 })
    expect(attempts).toEqual([1, 2, 3, 1, 2, 3])
  })

  test('that is refused is not tried again, and can be retried by hand with all its attempts', async () => {
    let isRefused = true
    const type = jobType('test.refused', async () => {
      if (isRefused) throw new JobRefused('never')
    })
    await using queue = await openTestQueue(app, [type])
    const id = await queue.enqueue(type.name, {}, undefined, { maxAttempts: 5 })
    const failed = await waitForState(id, 'failed')
    expect(failed).toMatchObject({ attempts: 1, maxAttempts: 5, lastError: 'never' })
    isRefused = false
    expect((await ask('POST', `/${id}/retry`)).json).toMatchObject({ attempts: 0, maxAttempts: 5 })
    queue.wake()
    expect(await waitForState(id, 'completed')).toMatchObject({ attempts: 1, lastError: '' })
  })

  test('is begun in milliseconds on the node that added it, and soon on another one', async () => {
    const begun: string[] = []
    const type = jobType('test.soon', async (_payload, { id }) => void begun.push(id))
    await using queue = await openTestQueue(app, [type])
    await using other = await openTestQueue(app, [type], { isWorking: false })
    const ids = [await queue.enqueue(type.name, {}), await other.enqueue(type.name, {})]
    await waitFor('both to be begun', () => begun.length === 2)
    expect([...begun].sort()).toEqual(ids.sort())
  })

  test('is not begun before its time, nor when it was canceled', async () => {
    const begun: string[] = []
    const type = jobType('test.later', async (_payload, { id }) => void begun.push(id))
    await using queue = await openTestQueue(app, [type])
    const runAt = new Date(Date.now() + 3_600_000)
    const later = await queue.enqueue(type.name, {}, undefined, { runAt })
    expect((await ask('POST', `/${later}/cancel`)).status).toBe(200)
    await app.sql('update basalt.jobs set run_at = now() where id = $1', [later])
    const now = await queue.enqueue(type.name, {})
    await waitForState(now, 'completed')
    expect(begun).toEqual([now])
  })

  test('is done once, however many nodes look for it', async () => {
    const begun: string[] = []
    const type = jobType('test.once', async (_payload, { id }) => void begun.push(id))
    await using first = await openTestQueue(app, [type])
    await using second = await openTestQueue(app, [type])
    const ids = await Promise.all(Array.from({ length: 60 }, () => first.enqueue(type.name, {})))
    second.wake()
    await waitFor('all to be begun', () => begun.length >= ids.length)
    await waitFor('all to be done', async () => {
      const rest = "select from basalt.jobs where type = 'test.once' and state <> 'completed'"
      return (await app.sql(rest)).length === 0
    })
    expect(begun.sort()).toEqual(ids.sort())
  })
})

describe('a job that outlives its time limit', () => {
  test('loses its lease, which is no longer renewed, so that another worker gets it', async () => {
    const release = gate()
    const signals: AbortSignal[] = []
    const overdue = jobType(
      'test.overdue',
      async (_payload, { signal }) => {
        signals.push(signal)
        if (signals.length === 1) await release.promise
      },
      { timeout: 1 },
    )
    const inTime = jobType('test.in_time', () => release.promise)
    await using queue = await openTestQueue(app, [overdue, inTime])
    const ids = [await queue.enqueue(overdue.name, {}), await queue.enqueue(inTime.name, {})]
    await waitFor('the time limit', () => signals[0]?.aborted === true)
    await waitForState(ids[1] ?? '', 'running')
    // Both leases are marked: those in time are renewed by one statement every few seconds.
    await app.sql("update basalt.jobs set leased_until = 'infinity' where id = any ($1::uuid[])", [ids])
    const isMarked = async (id: string | undefined) =>
      (await app.sql("select leased_until = 'infinity' as is from basalt.jobs where id = $1", [id]))[0]?.is
    await waitFor('the renewal', async () => (await isMarked(ids[1])) === false, 60_000)
    expect(await isMarked(ids[0])).toBe(true)

    await loseLease(ids[0] ?? '')
    expect(await waitForState(ids[0] ?? '', 'completed', 60_000)).toMatchObject({ attempts: 2 })
    expect(signals).toHaveLength(2)
    release.resolve()
    await waitForState(ids[1] ?? '', 'completed')
  }, 150_000)
})

describe('a worker whose lease ran out', () => {
  test('is replaced, and its stale completion is rejected', async () => {
    const [zombie, successor, release] = [gate(), gate(), gate()]
    const runs: RunningJob[] = []
    const type = jobType('test.zombie', async (_payload, job) => {
      runs.push(job)
      if (job.attempt > 1) {
        successor.resolve()
        await release.promise
        return
      }
      await zombie.promise
      throw new Error('stale')
    })
    // One whose worker dies with it every time: this was the last attempt.
    const crashing = jobType('test.crashing', async () => undefined)
    await using queue = await openTestQueue(app, [type])
    await using idle = await openTestQueue(app, [crashing], { isWorking: false })
    const id = await queue.enqueue(type.name, {})
    const doomed = await idle.enqueue(crashing.name, {})
    await waitFor('the first attempt', () => runs.length === 1)
    await app.sql(
      `update basalt.jobs set state = 'running', started_at = now(), attempts = max_attempts,
         leased_until = now() - interval '1 s' where id = $1`,
      [doomed],
    )
    await loseLease(id)
    await Promise.race([successor.promise, waitFor('a second attempt', () => runs.length === 2, 60_000)])
    expect((await ask('GET', `/${id}`)).json).toMatchObject({ state: 'running', attempts: 2 })

    zombie.resolve()
    // The slot is free again once the stale completion was rejected.
    const after = await queue.enqueue(type.name, {})
    await waitFor('one more attempt', () => runs.some((run) => run.id === after))
    expect((await ask('GET', `/${id}`)).json).toMatchObject({ state: 'running', attempts: 2 })
    release.resolve()
    expect(await waitForState(id, 'completed')).toMatchObject({ attempts: 2, lastError: '' })

    expect(await waitForState(doomed, 'failed', 60_000)).toMatchObject({
      attempts: 3,
      maxAttempts: 3,
      lastError: 'the worker was lost',
    })
  })

  test('completes nothing after its job was retried by hand', async () => {
    const zombie = gate()
    const begun = gate()
    const type = jobType('test.retried', async () => {
      begun.resolve()
      await zombie.promise
    })
    // Its only slot stays taken by the zombie.
    const queue = await openTestQueue(app, [type], { concurrency: 1 })
    const id = await queue.enqueue(type.name, {})
    await begun.promise
    // Given up meanwhile, retried, and begun by another worker.
    await app.sql(
      "update basalt.jobs set state = 'failed', leased_until = null, finished_at = now() where id = $1",
      [id],
    )
    const rest = gate()
    await using other = await openTestQueue(app, [jobType(type.name, () => rest.promise)])
    expect((await ask('POST', `/${id}/retry`)).json).toMatchObject({ attempts: 0 })
    other.wake()
    expect(await waitForState(id, 'running')).toMatchObject({ attempts: 1 })
    zombie.resolve()
    await queue[Symbol.asyncDispose]()
    expect((await ask('GET', `/${id}`)).json).toMatchObject({ state: 'running', attempts: 1 })
    rest.resolve()
    await waitForState(id, 'completed')
  })
})

describe('a server that stops', () => {
  test('lets running jobs finish', async () => {
    const [begun, rest] = [gate(), gate()]
    const type = jobType('test.finishing', async () => {
      begun.resolve()
      await rest.promise
    })
    const queue = await openTestQueue(app, [type])
    const id = await queue.enqueue(type.name, {})
    await begun.promise
    const stopping = queue.stop()
    rest.resolve()
    await stopping
    expect((await ask('GET', `/${id}`)).json).toMatchObject({ state: 'completed', attempts: 1 })
  })

  test('gives back what does not finish, as if it had not been begun', async () => {
    const begun: string[] = []
    const stubborn = gate()
    const types = [
      jobType('test.listening', async (_payload, { id, signal }) => {
        begun.push(id)
        await new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason))
        })
      }),
      jobType('test.stubborn', async (_payload, { id }) => {
        begun.push(id)
        await stubborn.promise
      }),
    ]
    const queue = await openTestQueue(app, types, { stopTimeout: 0 })
    const ids = await Promise.all(types.map(({ name }) => queue.enqueue(name, {})))
    await waitFor('both to be begun', () => begun.length === 2)
    await queue.stop()
    for (const id of ids) {
      expect((await ask('GET', `/${id}`)).json).toMatchObject({
        state: 'queued',
        attempts: 0,
        maxAttempts: 3,
        lastError: '',
      })
    }
    stubborn.resolve()
    await using next = await openTestQueue(
      app,
      types.map(({ name }) => jobType(name, async () => undefined)),
    )
    next.wake()
    for (const id of ids) expect(await waitForState(id, 'completed')).toMatchObject({ attempts: 1 })
  })
})
