import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { jobType, openTestQueue } from '../../../../../test/job-queues.ts'
import { createTestApp, type TestApp, type TestResponse } from '../../../../../test/test-app.ts'
import { waitFor } from '../../../../../test/wait-for.ts'
import { JobRefused, type RunningJob } from '../../../../job-queue.ts'
import { AppError } from '../../../../lib/errors.ts'

let app: TestApp

beforeAll(async () => {
  app = await createTestApp()
  // The token is created first, so that the first poll for a job is not late.
  await app.adminToken()
})
afterAll(() => app[Symbol.asyncDispose]())

async function request(method: string, path: string): Promise<TestResponse> {
  return await app.request(method, `/api/admin/jobs${path}`, { token: await app.adminToken() })
}

async function waitForState(id: string, state: string, timeoutMs?: number) {
  return await waitFor(
    `job ${id} to be ${state}`,
    async () => {
      const { json } = await request('GET', `/${id}`)
      return json.state === state && json
    },
    timeoutMs,
  )
}

/** Creates a promise with its resolver. */
function gate() {
  return Promise.withResolvers<void>()
}

/** Expires the lease of a job, as if its worker had been silent for a while. */
async function loseLease(id: string): Promise<void> {
  await app.sql("update basalt.jobs set leased_until = now() - interval '1 s' where id = $1", [id])
}

describe('job worker', () => {
  test('retries a failing job, which then fails with its last error', async () => {
    const attempts: number[] = []
    const type = jobType('test.fails', async (_payload, { attempt }) => {
      attempts.push(attempt)
      throw new Error(`failure ${attempt}`)
    })
    await using queue = await openTestQueue(app, [type])
    const id = await queue.enqueue(type.name, {})
    const waiting = await waitFor('the first failure', async () => {
      const { json } = await request('GET', `/${id}`)
      return json.lastError === 'failure 1' && json
    })
    expect(waiting).toMatchObject({ state: 'queued', attempts: 1, maxAttempts: 3 })
    expect(Date.parse(waiting.runAt)).toBeGreaterThan(Date.parse(waiting.lastRunAt))
    const failed = await waitForState(id, 'failed')
    expect(failed).toMatchObject({ attempts: 3, maxAttempts: 3, lastError: 'failure 3' })
    expect(attempts).toEqual([1, 2, 3])

    // A manual retry gives the job all its attempts again.
    expect((await request('POST', `/${id}/retry`)).json).toMatchObject({ attempts: 0, maxAttempts: 3 })
    queue.wake()
    expect(await waitForState(id, 'failed')).toMatchObject({ attempts: 3, maxAttempts: 3 })
    expect(attempts).toEqual([1, 2, 3, 1, 2, 3])
  })

  test.each(['functions_unavailable', 'too_many_calls'])(
    'does not count an attempt that %s kept from beginning',
    async (kind) => {
      let isReady = false
      const type = jobType('test.not_begun', async () => {
        if (!isReady) throw new AppError(kind, 503, 'not now')
      })
      await using queue = await openTestQueue(app, [type])
      const id = await queue.enqueue(type.name, {}, undefined, { maxAttempts: 1 })
      const released = await waitFor('the release', async () => {
        const { json } = await request('GET', `/${id}`)
        return json.lastRunAt !== undefined && json.state !== 'running' && json
      })
      expect(released).toMatchObject({ state: 'queued', attempts: 0, lastError: '' })
      expect(Date.parse(released.runAt) - Date.parse(released.lastRunAt)).toBeGreaterThanOrEqual(5000)
      isReady = true
      await app.sql('update basalt.jobs set run_at = now() where id = $1', [id])
      queue.wake()
      expect(await waitForState(id, 'completed')).toMatchObject({ attempts: 1 })
    },
  )

  test('does not retry a job that throws JobRefused until an administrator does', async () => {
    let isRefused = true
    const type = jobType('test.refused', async () => {
      if (isRefused) throw new JobRefused('never')
    })
    await using queue = await openTestQueue(app, [type])
    const id = await queue.enqueue(type.name, {}, undefined, { maxAttempts: 5 })
    const failed = await waitForState(id, 'failed')
    expect(failed).toMatchObject({ attempts: 1, maxAttempts: 5, lastError: 'never' })
    isRefused = false
    expect((await request('POST', `/${id}/retry`)).json).toMatchObject({ attempts: 0, maxAttempts: 5 })
    queue.wake()
    expect(await waitForState(id, 'completed')).toMatchObject({ attempts: 1, lastError: '' })
  })

  test('starts a job within milliseconds on the node that added it, and soon on another one', async () => {
    const started: string[] = []
    const type = jobType('test.soon', async (_payload, { id }) => void started.push(id))
    await using queue = await openTestQueue(app, [type])
    await using other = await openTestQueue(app, [type], { isWorking: false })
    const ids = [await queue.enqueue(type.name, {}), await other.enqueue(type.name, {})]
    await waitFor('both to start', () => started.length === 2)
    expect([...started].sort()).toEqual(ids.sort())
  })

  test('starts no job before its time, and no canceled one', async () => {
    const started: string[] = []
    const type = jobType('test.later', async (_payload, { id }) => void started.push(id))
    await using queue = await openTestQueue(app, [type])
    const runAt = new Date(Date.now() + 3_600_000)
    const later = await queue.enqueue(type.name, {}, undefined, { runAt })
    expect((await request('POST', `/${later}/cancel`)).status).toBe(200)
    await app.sql('update basalt.jobs set run_at = now() where id = $1', [later])
    const now = await queue.enqueue(type.name, {})
    await waitForState(now, 'completed')
    expect(started).toEqual([now])
  })

  test('runs each job once when two nodes poll for it', async () => {
    const started: string[] = []
    const type = jobType('test.once', async (_payload, { id }) => void started.push(id))
    await using first = await openTestQueue(app, [type])
    await using second = await openTestQueue(app, [type])
    const ids = await Promise.all(Array.from({ length: 60 }, () => first.enqueue(type.name, {})))
    second.wake()
    await waitFor('all to start', () => started.length >= ids.length)
    await waitFor('all to complete', async () => {
      const rest = "select from basalt.jobs where type = 'test.once' and state <> 'completed'"
      return (await app.sql(rest)).length === 0
    })
    expect(started.sort()).toEqual(ids.sort())
  })
})

describe('job worker › time limit', () => {
  test('stops renewing the lease of a job past its limit, so that another worker claims it', async () => {
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
    const punctual = jobType('test.in_time', () => release.promise)
    await using queue = await openTestQueue(app, [overdue, punctual])
    const ids = [await queue.enqueue(overdue.name, {}), await queue.enqueue(punctual.name, {})]
    await waitFor('the time limit', () => signals[0]?.aborted === true)
    await waitForState(ids[1] ?? '', 'running')
    // Both leases get a mark. One statement renews the leases of jobs within their limit every few seconds.
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

describe('job worker › expired lease', () => {
  test('hands the job to another worker and rejects the stale completion', async () => {
    const [stale, successor, release] = [gate(), gate(), gate()]
    const runs: RunningJob[] = []
    const type = jobType('test.stale', async (_payload, job) => {
      runs.push(job)
      if (job.attempt > 1) {
        successor.resolve()
        await release.promise
        return
      }
      await stale.promise
      throw new Error('stale')
    })
    // This job’s worker dies with it every time, and this was the last attempt.
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
    expect((await request('GET', `/${id}`)).json).toMatchObject({ state: 'running', attempts: 2 })

    stale.resolve()
    // The slot is free again once the stale completion is rejected.
    const after = await queue.enqueue(type.name, {})
    await waitFor('one more attempt', () => runs.some((run) => run.id === after))
    expect((await request('GET', `/${id}`)).json).toMatchObject({ state: 'running', attempts: 2 })
    release.resolve()
    expect(await waitForState(id, 'completed')).toMatchObject({ attempts: 2, lastError: '' })

    expect(await waitForState(doomed, 'failed', 60_000)).toMatchObject({
      attempts: 3,
      maxAttempts: 3,
      lastError: 'the worker was lost',
    })
  })

  test('rejects the completion of a job that was retried manually', async () => {
    const stale = gate()
    const started = gate()
    const type = jobType('test.retried', async () => {
      started.resolve()
      await stale.promise
    })
    // The first attempt holds the only slot.
    const queue = await openTestQueue(app, [type], { concurrency: 1 })
    const id = await queue.enqueue(type.name, {})
    await started.promise
    // The job fails meanwhile, is retried, and starts on another worker.
    await app.sql(
      "update basalt.jobs set state = 'failed', leased_until = null, finished_at = now() where id = $1",
      [id],
    )
    const rest = gate()
    await using other = await openTestQueue(app, [jobType(type.name, () => rest.promise)])
    expect((await request('POST', `/${id}/retry`)).json).toMatchObject({ attempts: 0 })
    other.wake()
    expect(await waitForState(id, 'running')).toMatchObject({ attempts: 1 })
    stale.resolve()
    await queue[Symbol.asyncDispose]()
    expect((await request('GET', `/${id}`)).json).toMatchObject({ state: 'running', attempts: 1 })
    rest.resolve()
    await waitForState(id, 'completed')
  })
})

describe('job worker › stop', () => {
  test('waits for running jobs', async () => {
    const [started, rest] = [gate(), gate()]
    const type = jobType('test.finishing', async () => {
      started.resolve()
      await rest.promise
    })
    const queue = await openTestQueue(app, [type])
    const id = await queue.enqueue(type.name, {})
    await started.promise
    const stopping = queue.stop()
    rest.resolve()
    await stopping
    expect((await request('GET', `/${id}`)).json).toMatchObject({ state: 'completed', attempts: 1 })
  })

  test('releases jobs that do not finish, as if they had not started', async () => {
    const started: string[] = []
    const stubborn = gate()
    const types = [
      jobType('test.listening', async (_payload, { id, signal }) => {
        started.push(id)
        await new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason))
        })
      }),
      jobType('test.stubborn', async (_payload, { id }) => {
        started.push(id)
        await stubborn.promise
      }),
    ]
    const queue = await openTestQueue(app, types, { stopTimeout: 0 })
    const ids = await Promise.all(types.map(({ name }) => queue.enqueue(name, {})))
    await waitFor('both to start', () => started.length === 2)
    await queue.stop()
    for (const id of ids) {
      expect((await request('GET', `/${id}`)).json).toMatchObject({
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
