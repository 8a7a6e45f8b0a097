import { afterEach, describe, expect, test, vi } from 'vitest'
import type { ContextDialect } from './caller/caller-context.ts'
import type { CallerScope, Origin } from './caller/caller-scope.ts'
import type { SessionCodeRow } from './catalog/queries/session-code.ts'
import { SessionCode } from './catalog/session-code.ts'
import { type Call, statement } from './connection/message.ts'
import { SessionGuard } from './session/guard.ts'
import { createRecordingPool, databaseError, type Respond } from './tests/recording.ts'
import { type Rehearsal, UserDatabase } from './user-database.ts'

const alice: CallerScope = {
  kind: 'caller',
  userId: 'a11ce',
  email: 'alice@example.com',
  isEmailVerified: true,
  aal: 'aal2',
  isAnonymous: false,
  sessionId: '5e55',
}
const bob: CallerScope = { ...alice, userId: 'b0b', email: 'bob@example.com', aal: 'aal1' }
const anonymous: CallerScope = { kind: 'anonymous' }
const unrestricted: CallerScope = { kind: 'unrestricted' }

const origin: Origin = { actor: 'user', requestId: 'r1', appId: 'app', keyId: '', address: '203.0.113.9' }

/** Context of a caller with a token. */
const contextSql =
  "select set_config('role', 'basalt_authenticated', true), set_config('basalt.user_id', $1, true), " +
  "set_config('basalt.user_email', $2, true), set_config('basalt.email_verified', $3, true), " +
  "set_config('basalt.aal', $4, true), set_config('basalt.is_anonymous', $5, true), " +
  "set_config('basalt.session_id', $6, true), set_config('basalt.custom_claims', $7, true)"
const aliceContext = [contextSql, 'a11ce', 'alice@example.com', 'true', 'aal2', 'false', '5e55', '']
const bobContext = [contextSql, 'b0b', 'bob@example.com', 'true', 'aal1', 'false', '5e55', '']

/** Calls that reset a session of our own. */
const reset = [
  ['reset session authorization'],
  ['reset role'],
  ['reset all'],
  ['close all'],
  ['unlisten *'],
  ['discard temp'],
  ['discard sequences'],
  [expect.stringContaining('select pg_catalog.pg_advisory_unlock_all()')],
]

const insert = (body: string): Call => ({
  statement: statement('insert into note (body) values ($1)'),
  values: [body],
})
const select = (id: string): Call => ({
  statement: statement('select body from note where id = $1::int'),
  values: [id],
})
/** Step that appends the changes of the write before it, as the login role. */
const append = {
  statement: statement('select basalt.append_changes($1, $2)'),
  values: ['public', 'note'],
  asLogin: true,
}

interface Options {
  readonly isPooled?: boolean
  readonly dialect?: ContextDialect
  /** Operator code that may leave state in a session. */
  readonly code?: readonly SessionCodeRow[]
  readonly rehearsal?: Rehearsal
  readonly respond?: Respond
  readonly grantCallerRoles?: () => Promise<boolean>
}

const cleanUps: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0)) await cleanUp()
})

/** Creates a database whose packets are recorded. */
function open({
  isPooled = false,
  dialect = 'parameters',
  code = [],
  rehearsal,
  respond,
  grantCallerRoles = async () => false,
}: Options = {}) {
  const { pool, connection, packets } = createRecordingPool(respond)
  cleanUps.push(() => pool.close())
  const transactions = dialect === 'literals' ? 'block' : 'message'
  const sessions = new SessionGuard({ isPooled, transactions })
  sessions.trust(new SessionCode(code))
  const transactionSettings: Record<string, string> = isPooled ? { timezone: 'UTC' } : {}
  const context = { dialect, transactionSettings, workerSettings: { timezone: 'UTC' } }
  const way = { pool, sessions, ...context, prepares: !isPooled, isOwner: false }
  const options = {
    callers: way,
    administrators: way,
    repairGrants: async () => false,
    grantCallerRoles,
  }
  return { database: new UserDatabase(options, rehearsal), connection, packets }
}

const write = { isRead: false }
const read = { isRead: true }

describe('UserDatabase.run › context', () => {
  test('sets the role and the claims of a caller with a token', async () => {
    const { database, packets } = open()
    await database.run(alice, [insert('tea')], write)
    expect(packets).toEqual([[[aliceContext, ['insert into note (body) values ($1)', 'tea']]]])
  })

  test('sets the role and empty claims for a request without a token', async () => {
    const { database, packets } = open()
    await database.run(anonymous, [select('1')], read)
    expect(packets).toEqual([
      [
        [
          [contextSql.replace('basalt_authenticated', 'basalt_anonymous'), '', '', '', '', '', '', ''],
          ['select body from note where id = $1::int', '1'],
        ],
      ],
    ])
  })

  test('sets no role for an administrator, and lets statements fail instead of hiding rows', async () => {
    const { database, packets } = open()
    await database.run(unrestricted, [select('1')], read)
    expect(packets).toEqual([
      [
        [
          ["select set_config('row_security', 'off', true)"],
          ['select body from note where id = $1::int', '1'],
        ],
      ],
    ])
  })

  test('adds the origin of a write that something reads', async () => {
    const { database, packets } = open()
    await database.run(unrestricted, [insert('tea')], { ...write, origin: { ...origin, actor: 'admin' } })
    expect(packets).toEqual([
      [
        [
          [
            "select set_config('row_security', 'off', true), set_config('basalt.origin', $1, true)",
            '["admin",null,null,"r1","app","203.0.113.9"]',
          ],
          ['insert into note (body) values ($1)', 'tea'],
        ],
      ],
    ])
  })

  test('forbids writes in a read-only run', async () => {
    const { database, packets } = open()
    await database.run(unrestricted, [select('1')], { ...read, isReadOnly: true })
    expect(packets).toEqual([
      [
        [
          ["select set_config('row_security', 'off', true)"],
          ["select set_config('transaction_read_only', 'on', true)"],
          ['select body from note where id = $1::int', '1'],
        ],
      ],
    ])
  })
})

describe('UserDatabase.run › steps of the login role', () => {
  test('switch the role before and after them', async () => {
    const { database, packets } = open()
    await database.run(alice, [insert('tea'), append, select('1')], write)
    expect(packets).toEqual([
      [
        [
          aliceContext,
          ['insert into note (body) values ($1)', 'tea'],
          ["select set_config('role', 'none', true)"],
          ['select basalt.append_changes($1, $2)', 'public', 'note'],
          ["select set_config('role', 'basalt_authenticated', true)"],
          ['select body from note where id = $1::int', '1'],
        ],
      ],
    ])
  })

  test('restore the role at the end, for triggers that run at the commit', async () => {
    const { database, packets } = open()
    await database.run(alice, [insert('tea'), append], write)
    expect(packets[0]?.[0]?.slice(2)).toEqual([
      ["select set_config('role', 'none', true)"],
      ['select basalt.append_changes($1, $2)', 'public', 'note'],
      ["select set_config('role', 'basalt_authenticated', true)"],
    ])
  })

  test('switch no role for an administrator', async () => {
    const { database, packets } = open()
    await database.run(unrestricted, [insert('tea'), append], write)
    expect(packets).toEqual([
      [
        [
          ["select set_config('row_security', 'off', true)"],
          ['insert into note (body) values ($1)', 'tea'],
          ['select basalt.append_changes($1, $2)', 'public', 'note'],
        ],
      ],
    ])
  })
})

describe('UserDatabase.run › steps that depend on results', () => {
  test('follow in a second message of the same transaction', async () => {
    const { database, packets } = open({ respond: () => ({ rows: [['7']], count: 1 }) })
    await database.run(unrestricted, [insert('tea')], {
      ...write,
      conclude: ([created]) => [select(created?.rows[0]?.[0] ?? '')],
    })
    expect(packets).toEqual([
      [
        [
          ['begin isolation level read committed'],
          ["select set_config('row_security', 'off', true)"],
          ['insert into note (body) values ($1)', 'tea'],
        ],
      ],
      [[['select body from note where id = $1::int', '7'], ['commit']]],
    ])
  })

  test('are rolled back with the others when they cannot be made', async () => {
    const { database, packets } = open()
    const conclude = () => {
      throw new Error('no result')
    }
    await expect(database.run(unrestricted, [insert('tea')], { ...write, conclude })).rejects.toThrow(
      'no result',
    )
    expect(packets.at(-1)).toEqual([[['rollback']]])
  })
})

describe('UserDatabase.run › sessions', () => {
  const code: readonly SessionCodeRow[] = [{ kind: 'function', schema: 'shop', name: 'notify' }]
  const call: Call = { statement: statement('select "shop"."notify"($1)'), values: ['tea'] }

  test('resets its own session in a second message of the same packet', async () => {
    const { database, packets } = open({ code })
    await database.run(unrestricted, [call], write)
    expect(packets).toEqual([
      [
        [
          ['discard sequences'],
          ["select set_config('row_security', 'off', true)"],
          ['select "shop"."notify"($1)', 'tea'],
        ],
        reset,
      ],
    ])
  })

  test('resets the session of a pooler in the same transaction', async () => {
    const { database, packets } = open({ code, isPooled: true })
    await database.run(unrestricted, [call], write)
    expect(packets).toEqual([
      [
        [
          ['begin isolation level read committed'],
          ['discard sequences'],
          ["select set_config('row_security', 'off', true), set_config('timezone', 'UTC', true)"],
          ['select "shop"."notify"($1)', 'tea'],
          ['set constraints all immediate'],
          ...reset,
          ["set client_encoding to 'UTF8'"],
          ['commit'],
        ],
      ],
    ])
  })

  test('resets nothing after statements that reach no such code', async () => {
    const { database, packets } = open({ code })
    await database.run(unrestricted, [select('1')], read)
    expect(packets).toHaveLength(1)
    expect(packets[0]).toHaveLength(1)
  })

  test('repeats the settings in each transaction behind a pooler', async () => {
    const { database, packets } = open({ isPooled: true })
    await database.run(unrestricted, [select('1')], read)
    expect(packets).toEqual([
      [
        [
          ["select set_config('row_security', 'off', true), set_config('timezone', 'UTC', true)"],
          ['select body from note where id = $1::int', '1'],
        ],
      ],
    ])
  })
})

describe('UserDatabase.run › literals', () => {
  const dialect = 'literals'

  test('sets role and origin by parameters, and what workers need by set local in a transaction block', async () => {
    const { database, packets } = open({ dialect })
    await database.run(alice, [insert('tea')], { ...write, origin })
    expect(packets).toEqual([
      [
        [
          ['begin isolation level read committed'],
          [
            "select set_config('role', 'basalt_authenticated', true), " +
              "set_config('citus.propagate_set_commands', 'local', true), set_config('basalt.origin', $1, true)",
            '["user","a11ce",null,"r1","app","203.0.113.9"]',
          ],
          [`set local "timezone" = 'UTC'`],
          [`set local "basalt"."user_id" = 'a11ce'`],
          [`set local "basalt"."user_email" = 'alice@example.com'`],
          [`set local "basalt"."email_verified" = 'true'`],
          [`set local "basalt"."aal" = 'aal2'`],
          [`set local "basalt"."is_anonymous" = 'false'`],
          [`set local "basalt"."session_id" = '5e55'`],
          [`set local "basalt"."custom_claims" = ''`],
          ['insert into note (body) values ($1)', 'tea'],
          ['commit'],
        ],
      ],
    ])
  })

  test('empties the claims of a caller without a token', async () => {
    const { database, packets } = open({ dialect })
    await database.run(anonymous, [select('1')], read)
    expect(packets[0]?.[0]?.slice(3, 10)).toEqual(
      ['user_id', 'user_email', 'email_verified', 'aal', 'is_anonymous', 'session_id', 'custom_claims'].map(
        (name) => [`set local "basalt"."${name}" = ''`],
      ),
    )
  })

  test('turns policies into failures for an administrator on the workers, too', async () => {
    const { database, packets } = open({ dialect })
    await database.run(unrestricted, [select('1')], { ...read, isReadOnly: true })
    expect(packets[0]?.[0]?.slice(1, 5)).toEqual([
      [
        "select set_config('row_security', 'off', true), set_config('citus.propagate_set_commands', 'local', true)",
      ],
      [`set local "timezone" = 'UTC'`],
      [`set local "row_security" = 'off'`],
      [`set local "transaction_read_only" = 'on'`],
    ])
  })

  test('rolls a failed run back before it is sent again', async () => {
    const failures = [databaseError('40P01')]
    const respond: Respond = (sql) => (sql.startsWith('insert') ? failures.pop() : undefined)
    const { database, packets } = open({ dialect, respond })
    await database.run(alice, [insert('tea')], write)
    expect(packets.map((packet) => packet[0]?.[0])).toEqual([
      ['begin isolation level read committed'],
      ['rollback'],
      ['begin isolation level read committed'],
    ])
  })
})

describe('UserDatabase.run › rehearsal', () => {
  test('undoes the run after the setup and the checks of the commit', async () => {
    const setup = () => [{ statement: statement('insert into note (id) values (1)'), values: [] }]
    const { database, packets } = open({ rehearsal: { setup, loginSecret: '' } })
    await database.run(alice, [insert('tea')], write)
    expect(packets).toEqual([
      [
        [
          ['rollback'],
          ['begin isolation level read committed'],
          ['insert into note (id) values (1)'],
          aliceContext,
          ['insert into note (body) values ($1)', 'tea'],
          ['set constraints all immediate'],
          ['rollback'],
        ],
      ],
      [reset],
    ])
  })
})

describe('UserDatabase.run › packets', () => {
  test('sends the reads of one tick together, each as a transaction of its own caller', async () => {
    const { database, packets } = open()
    // Reads are grouped once they are known to be quick.
    await database.run(unrestricted, [select('0')], read)
    await Promise.all([
      database.run(alice, [select('1')], read),
      database.run(bob, [select('2')], read),
      database.run(alice, [select('3')], read),
    ])
    const selectSql = 'select body from note where id = $1::int'
    expect(packets.slice(1)).toEqual([
      [
        [aliceContext, [selectSql, '1']],
        [bobContext, [selectSql, '2']],
        [aliceContext, [selectSql, '3']],
      ],
    ])
  })

  test('sends at most eight reads together', async () => {
    const { database, packets } = open()
    await database.run(unrestricted, [select('0')], read)
    await Promise.all(Array.from({ length: 11 }, () => database.run(alice, [select('1')], read)))
    expect(packets.slice(1).map((messages) => messages.length)).toEqual([8, 3])
  })

  test('sends each write in a packet of its own', async () => {
    const { database, packets } = open()
    await database.run(unrestricted, [select('0')], read)
    await Promise.all([
      database.run(alice, [insert('tea')], write),
      database.run(alice, [insert('milk')], write),
    ])
    expect(packets.slice(1)).toEqual([
      [[aliceContext, ['insert into note (body) values ($1)', 'tea']]],
      [[aliceContext, ['insert into note (body) values ($1)', 'milk']]],
    ])
  })
})

describe('UserDatabase.findAdministratorFault', () => {
  const fault = expect.stringContaining('have an administrator run: grant')

  /** Opens a database with the results of its grants, one after the other. */
  function openWith(...results: (boolean | Error)[]) {
    const grants = { count: 0 }
    const grantCallerRoles = async () => {
      const result = results[grants.count] ?? false
      grants.count += 1
      if (result instanceof Error) throw result
      return result
    }
    return { ...open({ grantCallerRoles }), grants }
  }

  test('tries a grant once for calls at the same time, and no more after its success', async () => {
    const { database, grants } = openWith(true)
    const found = await Promise.all([1, 2, 3].map(() => database.findAdministratorFault()))
    expect([...found, await database.findAdministratorFault()]).toEqual(Array(4).fill(undefined))
    expect(grants.count).toBe(1)
  })

  test('tries a refused grant again after 10 s', async () => {
    vi.useFakeTimers({ toFake: ['performance'] })
    cleanUps.push(async () => void vi.useRealTimers())
    const { database, grants } = openWith(false, true)
    const found = await Promise.all([1, 2].map(() => database.findAdministratorFault()))
    vi.advanceTimersByTime(9999)
    expect([...found, await database.findAdministratorFault()]).toEqual([fault, fault, fault])
    expect(grants.count).toBe(1)
    vi.advanceTimersByTime(1)
    expect(await database.findAdministratorFault()).toBe(undefined)
    expect(grants.count).toBe(2)
  })

  test('tries a grant that has failed with an error again at once', async () => {
    const { database } = openWith(new Error('no connection'), true)
    await expect(database.findAdministratorFault()).rejects.toThrow('no connection')
    expect(await database.findAdministratorFault()).toBe(undefined)
  })
})

describe('UserDatabase.run › plans', () => {
  const list: Call = {
    statement: statement('select "t"."body" from "public"."note" "t"', '1', [
      { oid: '16385', isRestricted: true },
    ]),
    values: [],
  }
  const checkedContext = (sizes: string) => [
    `${contextSql}, basalt.check_size_classes($8, $9)`,
    ...aliceContext.slice(1),
    '{"16385"}',
    `{"${sizes}"}`,
  ]

  test('checks the size of a relation, and queries the class of the caller once it is large', async () => {
    let check = 0
    const respond: Respond = (sql) => {
      if (sql.includes('check_size_classes')) {
        check += 1
        // The first run expects a small relation.
        return check === 1 ? databaseError('BS006', { table: '16385', detail: '12' }) : undefined
      }
      return sql === 'select basalt.plan_class($1)' ? { rows: [['12.0.5a17']], count: 1 } : undefined
    }
    const { database, packets } = open({ respond })
    await database.run(alice, [list], read)
    await database.run(alice, [list], read)
    const sql = 'select "t"."body" from "public"."note" "t"'
    const guarded = (name: string) => `select * from (${sql}) kept where basalt.planned_for(16385, '${name}')`
    // A small relation has one plan for all callers. The context fails when the relation is large.
    expect(packets[0]).toEqual([[checkedContext('0'), [sql]]])
    // The context repeats the check after a quarter of a second.
    expect(packets.slice(1).map(([calls]) => calls?.slice(1))).toEqual([
      // The relation is large, and the class of the caller is unknown: PostgreSQL plans anew.
      [[sql], ['select basalt.plan_class($1)', '16385']],
      // The class is known: PostgreSQL may cache the plan, and guards it.
      [[guarded('12.0.5a17')]],
    ])
  })

  test('plans anew in a transaction that cannot be repeated', async () => {
    const { database, connection, packets } = open()
    await database.transaction(
      connection,
      alice,
      { settings: { statement_timeout: '60000' } },
      async ({ run }) => {
        await run([list])
      },
    )
    expect(packets.slice(0, 3)).toEqual([
      [[['begin isolation level read committed'], aliceContext]],
      [[['select set_config($1, $2, true)', 'statement_timeout', '60000']]],
      [[['select "t"."body" from "public"."note" "t"']]],
    ])
  })
})
