import { pino } from 'pino'
import { describe, expect, test } from 'vitest'
import { createManualTimer } from '../../../test/manual-timer.ts'
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
