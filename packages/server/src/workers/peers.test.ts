import { pino } from 'pino'
import { describe, expect, test } from 'vitest'
import { createManualTimer } from '../../test/manual-timer.ts'
import { graceMs } from '../database/notifications/coverage.ts'
import { listeningMs, pollingMs } from '../database/notifications/intervals.ts'
import { Notifications, type Watch, type WatchHandle } from '../database/notifications/notifications.ts'
import type { PeerMessage, PeerReceiver } from '../database/notifications/peers.ts'
import { render, type Sql, sql } from '../database/sql.ts'
import type { Queryable } from '../database/system-database.ts'
import { Leader } from './leader.ts'
import { ParentChannel } from './peers.ts'

const log = pino({ enabled: false })

/** Database whose versions all workers read. */
class Versions {
  readonly #values = new Map<unknown, string>()
  /** Number of statements by worker. */
  statements = [0, 0, 0]

  set(name: string, value: string): void {
    this.#values.set(name, value)
  }

  queryableOf(worker: number): Pick<Queryable, 'one'> {
    return {
      one: async (statement: Sql) => {
        const { text, values } = render(statement)
        this.statements[worker] = (this.statements[worker] ?? 0) + 1
        const columns = [...text.matchAll(/\(value of \$(\d+) since \$(\d+)\)::text as "(v\d+)"/g)]
        const row = columns.map(([, name, since, column]) => {
          const value = this.#values.get(values[Number(name) - 1])
          return [column, `${values[Number(since) - 1]} ${value}`]
        })
        return { ...Object.fromEntries(row), time: String(Date.now()) } as never
      },
    }
  }
}

const versionOf = (name: string, since: number | string) => sql`value of ${name} since ${since}`

interface Member {
  readonly notifications: Notifications
  readonly channel: ParentChannel
  readonly handle: WatchHandle
  /** Colours and schedules that this worker has read. */
  readonly colours: string[]
  readonly schedules: string[]
  /** True while its messages do not arrive. */
  isSilent: boolean
}

/** Starts the loops of three workers. Messages arrive at once. */
async function startMachine(watchOf: (worker: number) => Partial<Watch> = () => ({})) {
  const timer = createManualTimer()
  const versions = new Versions()
  const members: Member[] = []
  /** Messages by worker. */
  const sent: [worker: number, kind: PeerMessage['kind']][] = []
  const leader = new Leader<Member>(({ channel }, message) => {
    if (message.kind === 'leader') channel.setLeader(message.isLeader)
    else channel.receive(message.message)
  })
  versions.set('colour', 'red')
  versions.set('schedules', 'none')
  for (const worker of [0, 1, 2]) {
    const channel = new ParentChannel((message) => {
      const member = members[worker]
      sent.push([worker, message.kind])
      if (member !== undefined && !member.isSilent) leader.pass(member, message, members)
    })
    const notifications = new Notifications({
      database: versions.queryableOf(worker),
      openListener: undefined,
      // The clock of the machine has another origin than that of a process.
      peers: {
        now: () => timer.now() + 1000,
        send: (message) => channel.send(message),
        connect: (receiver: PeerReceiver) => channel.connect(receiver),
      },
      log,
      timer,
    })
    const colours: string[] = []
    const handle = notifications.watch({
      topic: 'colour',
      version: versionOf('colour', ''),
      onChange: (version) => void colours.push(String(version).trim()),
      ...watchOf(worker),
    })
    const schedules: string[] = []
    notifications.watch({
      topic: 'schedules',
      version: versionOf('schedules', ''),
      isForLeader: () => true,
      onChange: (version) => void schedules.push(String(version).trim()),
    })
    members.push({ notifications, channel, handle, colours, schedules, isSilent: false })
    await notifications.start()
  }
  return {
    timer,
    versions,
    sent,
    members: members as [Member, Member, Member],
    /** Names the leader as the parent does. */
    serve: (...serving: Member[]) => leader.update(serving, members),
    /** Lets time pass with all work that becomes due. */
    async pass(ms: number) {
      let hasPassed = false
      timer.after(ms, () => {
        hasPassed = true
      })
      await settle()
      while (!hasPassed) {
        await timer.runNext(Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY)
        await settle()
      }
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(members.map(({ notifications }) => notifications.stop()))
    },
  }
}

/** Waits for work in flight that needs no timer. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve))
}

/** Time after which a follower polls for itself. */
const lapseMs = listeningMs + graceMs + 1

describe('leader of a machine', () => {
  test('polls for all workers, which run no statement', async () => {
    await using machine = await startMachine()
    const { members, versions, timer, sent, serve, pass } = machine
    serve(...members)
    await pass(1000)
    versions.statements = [0, 0, 0]
    sent.length = 0
    await pass(80 * pollingMs)
    expect(versions.statements).toEqual([80, 0, 0])
    expect(sent).toEqual(Array(80).fill([0, 'polled']))
    expect(members.map(({ notifications }) => notifications.isLeading)).toEqual([true, false, false])
    for (const { handle } of members) expect(timer.now() - handle.currentAt).toBeLessThanOrEqual(pollingMs)
  })

  test('announces a change of plain SQL, which each worker reads for itself', async () => {
    await using machine = await startMachine()
    const { members, versions, serve, pass } = machine
    serve(...members)
    await pass(1000)
    versions.statements = [0, 0, 0]
    versions.set('colour', 'green')
    await pass(8 * pollingMs)
    expect(members.map(({ colours }) => colours)).toEqual(Array(3).fill(['red', 'green']))
    expect(versions.statements).toEqual([8, 1, 1])
  })

  test('does the work that is done once per machine', async () => {
    await using machine = await startMachine()
    const { members, versions, serve, pass } = machine
    serve(...members)
    await pass(1000)
    versions.set('schedules', 'due')
    members[1].notifications.announce('schedules')
    await pass(1000)
    expect(members.map(({ schedules }) => schedules)).toEqual([['none', 'due'], ['none'], ['none']])
  })

  test('is replaced when it does not serve any more, and remains without a successor', async () => {
    await using machine = await startMachine()
    const { members, versions, serve, pass } = machine
    const [first, second, third] = members
    serve(first, second, third)
    serve()
    await pass(1000)
    expect(members.map(({ notifications }) => notifications.isLeading)).toEqual([true, false, false])
    serve(third, second)
    serve(first, second, third)
    await pass(1000)
    expect(members.map(({ notifications }) => notifications.isLeading)).toEqual([false, false, true])
    versions.set('colour', 'green')
    versions.set('schedules', 'due')
    await pass(2 * pollingMs)
    expect(members.map(({ colours }) => colours.at(-1))).toEqual(['green', 'green', 'green'])
    expect(members.map(({ schedules }) => schedules.at(-1))).toEqual(['none', 'none', 'due'])
  })
})

describe('follower of the leader', () => {
  test('polls for itself when the polls of the leader cease, until they resume', async () => {
    await using machine = await startMachine()
    const { members, versions, timer, sent, serve, pass } = machine
    const [leader, worker] = members
    serve(...members)
    await pass(1000)
    const { interruptions } = worker.notifications
    leader.isSilent = true
    versions.set('colour', 'green')
    versions.set('schedules', 'due')
    await pass(lapseMs)
    expect([worker.colours.at(-1), worker.schedules.at(-1)]).toEqual(['green', 'due'])
    expect([worker.notifications.isLeading, worker.notifications.interruptions]).toEqual([
      true,
      interruptions + 1,
    ])
    versions.statements = [0, 0, 0]
    await pass(8 * pollingMs)
    expect(versions.statements).toEqual([8, 8, 8])
    expect(sent.slice(-8)).toEqual(Array(8).fill([0, 'polled']))
    expect(timer.now() - worker.handle.currentAt).toBeLessThanOrEqual(pollingMs)
    leader.isSilent = false
    await pass(2 * pollingMs)
    versions.statements = [0, 0, 0]
    await pass(8 * pollingMs)
    expect(versions.statements).toEqual([8, 0, 0])
    expect(worker.notifications.interruptions).toBe(interruptions + 1)
  })

  test('counts everything as announced when the leader changes', async () => {
    await using machine = await startMachine()
    const { members, versions, serve, pass } = machine
    const [first, second, third] = members
    serve(...members)
    await pass(1000)
    const { interruptions } = third.notifications
    versions.statements = [0, 0, 0]
    serve(second)
    await pass(10)
    expect(versions.statements).toEqual([1, 1, 1])
    expect(third.notifications.interruptions).toBe(interruptions + 1)
    expect(first.notifications.isLeading).toBe(false)
  })

  test('polls at once when commits before a call must be in force', async () => {
    await using machine = await startMachine()
    const { members, versions, serve, pass } = machine
    const [leader, worker] = members
    serve(...members)
    await pass(1000)
    leader.isSilent = true
    versions.set('colour', 'green')
    const polled = worker.handle.poll()
    await pass(0)
    await polled
    expect(worker.colours).toEqual(['red', 'green'])
    expect(worker.notifications.isLeading).toBe(false)
  })

  test('announces its changes to the others, which do not wait for a poll of the leader', async () => {
    await using machine = await startMachine()
    const { members, versions, serve, pass } = machine
    const [leader, worker, other] = members
    serve(...members)
    await pass(1000)
    leader.isSilent = true
    versions.set('colour', 'green')
    worker.notifications.announce('colour')
    await pass(10)
    expect([worker, other].map(({ colours }) => colours.at(-1))).toEqual(['green', 'green'])
  })

  test('reads a version again after it has returned to the earlier one between two polls', async () => {
    await using machine = await startMachine()
    const { members, versions, serve, pass } = machine
    const [, worker] = members
    serve(...members)
    await pass(1000)
    versions.set('colour', 'green')
    const polled = worker.handle.poll()
    await pass(0)
    await polled
    versions.set('colour', 'red')
    await pass(2 * pollingMs)
    expect(members.map(({ colours }) => colours)).toEqual([['red'], ['red', 'green', 'red'], ['red']])
  })

  test('confirms versions of its own by the changes in those of the leader', async () => {
    const watchOf = (worker: number): Partial<Watch> => ({
      version: () => versionOf('colour', worker),
      changesOf: (version) => String(version?.split(' ')[1]),
    })
    await using machine = await startMachine(watchOf)
    const { members, versions, serve, pass } = machine
    serve(...members)
    await pass(1000)
    versions.statements = [0, 0, 0]
    await pass(8 * pollingMs)
    expect(versions.statements).toEqual([8, 0, 0])
    versions.set('colour', 'green')
    await pass(2 * pollingMs)
    versions.set('colour', 'red')
    await pass(2 * pollingMs)
    expect(members.map(({ colours }) => colours)).toEqual(
      [0, 1, 2].map((worker) => [`${worker} red`, `${worker} green`, `${worker} red`]),
    )
  })

  test('polls a version for itself whose expression differs from that of the leader', async () => {
    const watchOf = (worker: number): Partial<Watch> => ({
      version: versionOf(worker === 0 ? 'colour' : 'size', ''),
    })
    await using machine = await startMachine(watchOf)
    const { members, versions, serve, pass } = machine
    versions.set('size', 'red')
    serve(...members)
    await pass(1000)
    versions.set('size', 'large')
    await pass(lapseMs)
    expect(members.map(({ colours }) => colours.at(-1))).toEqual(['red', 'large', 'large'])
  })

  test('gives the leader no credit for a poll from long ago', async () => {
    await using machine = await startMachine()
    const { members, timer, serve, pass } = machine
    const [leader, worker] = members
    serve(...members)
    await pass(1000)
    leader.isSilent = true
    await pass(lapseMs)
    const { currentAt } = worker.handle
    worker.channel.receive({
      kind: 'polled',
      begunAt: timer.now() + 1000 - lapseMs,
      marks: new Map(),
      clock: { differenceMs: 0, tookMs: 1 },
      interruptions: 0,
    })
    expect([worker.notifications.isLeading, worker.handle.currentAt]).toEqual([true, currentAt])
  })
})

describe('messages between workers', () => {
  test('reach all others, and polls only those of the leader', () => {
    const [first, second, third] = [{}, {}, {}]
    const sent: [object, unknown][] = []
    const leader = new Leader<object>((worker, message) => sent.push([worker, message]))
    const all = [first, second, third]
    const announced = { kind: 'announced', topics: ['colour'] } as const
    const polled = {
      kind: 'polled',
      begunAt: 0,
      marks: new Map(),
      clock: { differenceMs: 0, tookMs: 0 },
      interruptions: 0,
    } as const
    leader.update([second], all)
    expect(sent.splice(0)).toEqual([
      [first, { kind: 'leader', isLeader: false }],
      [second, { kind: 'leader', isLeader: true }],
      [third, { kind: 'leader', isLeader: false }],
    ])
    leader.pass(first, announced, all)
    leader.pass(first, polled, all)
    expect(sent.splice(0)).toEqual([
      [second, { kind: 'peer', message: announced }],
      [third, { kind: 'peer', message: announced }],
    ])
    leader.pass(second, polled, all)
    expect(sent.splice(0)).toEqual([
      [first, { kind: 'peer', message: polled }],
      [third, { kind: 'peer', message: polled }],
    ])
    leader.update([third, second], all)
    expect(sent).toEqual([])
  })
})
