import { pino } from 'pino'
import { describe, expect, test } from 'vitest'
import { createManualTimer } from '../../../test/manual-timer.ts'
import { waitFor } from '../../../test/wait-for.ts'
import { sql } from '../sql.ts'
import { createRecordingQueryable } from '../tests/recording.ts'
import { Notifications } from './notifications.ts'
import { notify, TopicSender } from './sender.ts'

const log = pino({ enabled: false })

describe('notifications › SQL', () => {
  test('read the versions of all topics by one statement', async () => {
    const { queryable, statements } = createRecordingQueryable(() => [{ v0: '1', v1: '7', time: '0' }])
    const notifications = new Notifications({ database: queryable, openListener: undefined, log })
    const seen: string[] = []
    notifications.watch({
      topic: 'auth_settings',
      version: sql`select version from basalt.auth_settings`,
      onChange: (version) => void seen.push(`auth_settings ${version}`),
    })
    notifications.watch({
      topic: 'sites',
      version: sql`select max(version) from basalt.sites where node <> ${'web-1'}`,
      onChange: (version) => void seen.push(`sites ${version}`),
    })
    await notifications.start()
    await notifications.stop()
    expect(statements[0]).toEqual([
      'select (select version from basalt.auth_settings)::text as "v0", ' +
        '(select max(version) from basalt.sites where node <> $1)::text as "v1", ' +
        '(extract(epoch from clock_timestamp()) * 1000)::text as time, basalt.timeline()::text as timeline',
      'web-1',
    ])
    expect(seen).toEqual(['auth_settings 1', 'sites 7'])
  })

  test('announce the topics of 20 ms by one statement, each once', async () => {
    const timer = createManualTimer()
    const { queryable, statements } = createRecordingQueryable(() => [{ sent: '1' }])
    const sender = new TopicSender((topics) => notify(queryable, topics), timer)
    sender.send('jobs')
    for (const topic of ['sites', 'jobs', 'sites']) sender.send(topic)
    await timer.runNext(20)
    await sender.stop()
    const statement = 'select count(pg_notify($1, topic))::text as sent from unnest($2::text[]) topic'
    expect(statements).toEqual([
      [statement, 'basalt', ['jobs']],
      [statement, 'basalt', ['sites', 'jobs']],
    ])
  })
})

describe('notifications › another timeline', () => {
  test('reads every topic again, whose version may be the same by chance, and forgets what it was compiled from', async () => {
    const timer = createManualTimer()
    let timeline: string | null = '1'
    const { queryable } = createRecordingQueryable(() => [{ v0: '7', v1: '7', time: '0', timeline }])
    const notifications = new Notifications({ database: queryable, openListener: undefined, log, timer })
    const seen: string[] = []
    for (const topic of ['auth_settings', 'sites']) {
      notifications.watch({
        topic,
        version: sql`select 1`,
        onChange: (version) => void seen.push(`${topic} ${version}`),
        onTimeline: () => void seen.push(`${topic} forgets`),
      })
    }
    const poll = async (times: number) => {
      seen.length = 0
      for (let count = 0; count < times; count += 1) await timer.runNext(Number.POSITIVE_INFINITY)
      await waitFor('the polls', () => seen.length === 0 || seen.length % 4 === 0)
      return seen.toSorted()
    }
    await notifications.start()
    expect(await poll(3)).toEqual([])
    timeline = null
    expect(await poll(2)).toEqual([])
    timeline = '2'
    expect(await poll(3)).toEqual(['auth_settings 7', 'auth_settings forgets', 'sites 7', 'sites forgets'])
    expect(await poll(2)).toEqual([])
    expect(notifications.interruptions).toBe(1)
    await notifications.stop()
  })

  test('reads a topic again that was being read on the earlier one', async () => {
    const timer = createManualTimer()
    let timeline = '1'
    const { queryable } = createRecordingQueryable(() => [{ v0: '7', v1: '1', time: '0', timeline }])
    const notifications = new Notifications({ database: queryable, openListener: undefined, log, timer })
    const reads: PromiseWithResolvers<void>[] = []
    const slow = notifications.watch({
      topic: 'slow',
      version: sql`select 2`,
      onChange: () => {
        const read = Promise.withResolvers<void>()
        if (reads.push(read) === 1) read.resolve()
        return read.promise
      },
    })
    notifications.watch({ topic: 'quick', version: sql`select 1`, onChange: () => undefined })
    await notifications.start()
    timeline = '2'
    const isInForce = slow.poll()
    while (reads.length < 2) await timer.runNext(Number.POSITIVE_INFINITY)
    timeline = '3'
    for (let count = 0; count < 2; count += 1) await timer.runNext(Number.POSITIVE_INFINITY)
    reads[1]?.resolve()
    await waitFor('the timer', async () => {
      await timer.runNext(Number.POSITIVE_INFINITY)
      return reads.length === 3
    })
    reads[2]?.resolve()
    await isInForce
    await notifications.stop()
  })
})
