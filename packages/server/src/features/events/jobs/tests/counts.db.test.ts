import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createTestApp, type TestApp } from '../../../../../test/test-app.ts'
import { correctJobCounts } from '../counts.ts'

const nothing = { queued: 0, running: 0, completed: 0, failed: 0, canceled: 0 }

describe('job counts', () => {
  let app: TestApp
  let token: string

  beforeAll(async () => {
    // A database without schedules has no jobs that a worker touches.
    app = await createTestApp({ setup: 'delete from basalt.schedules' })
    token = await app.adminToken()
  })
  afterAll(() => app[Symbol.asyncDispose]())
  beforeEach(() => app.sql('truncate basalt.jobs'))

  const add = (state: string, count: number) =>
    app.sql(`
      insert into basalt.jobs (type, state, max_attempts, run_at, leased_until)
      select 'unknown', '${state}', 1, now() + interval '1 day', case when '${state}' = 'running' then now() + interval '1 day' end
      from generate_series(1, ${count})`)
  const counts = async () => {
    const { json } = await app.request('GET', '/api/admin/jobs/stats', { token })
    const { oldestQueuedAgeSec: _, ...states } = json
    return states
  }

  test('follow every statement that changes jobs', async () => {
    await add('queued', 3)
    await add('completed', 2)
    expect(await counts()).toEqual({ ...nothing, queued: 3, completed: 2 })
    await app.sql(`
      with lost as (
        update basalt.jobs set state = 'failed' where id in (select id from basalt.jobs where state = 'queued' limit 1)
      )
      update basalt.jobs set state = 'canceled' where state = 'completed'`)
    expect(await counts()).toEqual({ ...nothing, queued: 2, failed: 1, canceled: 2 })
    await app.sql(`delete from basalt.jobs where state = 'canceled'`)
    expect(await counts()).toEqual({ ...nothing, queued: 2, failed: 1 })
    await app.sql('truncate basalt.jobs')
    expect(await counts()).toEqual(nothing)
  })

  test('stay correct while several requests merge many differences at once', async () => {
    await app.sql(`
      do $$ begin for n in 1..1500 loop
        insert into basalt.jobs (type, state, max_attempts, run_at) values ('unknown', 'queued', 1, now() + interval '1 day');
      end loop; end $$`)
    const results = await Promise.all(Array.from({ length: 10 }, counts))
    expect(results).toEqual(results.map(() => ({ ...nothing, queued: 1500 })))
    expect(await counts()).toEqual({ ...nothing, queued: 1500 })
    const [row] = await app.sql('select count(*)::int as rows from basalt.job_counts')
    expect(row?.rows).toBeLessThan(10)
  })

  test('are corrected after changes without triggers', async () => {
    await add('queued', 2)
    await app.sql(`
      begin; set local session_replication_role = replica; update basalt.jobs set state = 'failed'; commit`)
    expect(await counts()).toEqual({ ...nothing, queued: 2 })
    await Promise.all([correctJobCounts(app.app.database.system), correctJobCounts(app.app.database.system)])
    expect(await counts()).toEqual({ ...nothing, failed: 2 })
  })
})
