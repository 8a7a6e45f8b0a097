import fc from 'fast-check'
import { parseIntoClientConfig } from 'pg-connection-string'
import { describe, expect, test } from 'vitest'
import {
  branchUrl,
  DatabaseUrlFault,
  describeUrl,
  parseDatabaseUrl,
  withDatabaseName,
} from './database-url.ts'

function hostsOf(url: string): string[] {
  return parseDatabaseUrl(url).hosts.map(({ host, port }) => `${host} ${port}`)
}

function faultOf(url: string): string {
  try {
    parseDatabaseUrl(url)
  } catch (error) {
    if (error instanceof DatabaseUrlFault) return error.message
    throw error
  }
  return 'none'
}

describe('database URL › several hosts', () => {
  test.each([
    ['postgresql://u:p@a:5433,b:5434/shop', ['a 5433', 'b 5434']],
    ['postgresql://a,b:5434,c/shop', ['a 5432', 'b 5434', 'c 5432']],
    ['postgresql://u@a,b/shop?port=6432', ['a 6432', 'b 6432']],
    ['postgresql://u@a,b/shop?port=6432,6433', ['a 6432', 'b 6433']],
    ['postgresql://u@[2001:db8::1]:5433,[::1]/shop', ['2001:db8::1 5433', '::1 5432']],
    ['postgresql://u@%2Frun%2Fone,%2Frun%2Ftwo:5433/shop', ['/run/one 5432', '/run/two 5433']],
    ['postgresql:///shop?host=/run/one,/run/two&port=1,2', ['/run/one 1', '/run/two 2']],
    ['postgresql:///shop?host=2001:db8::1,b', ['2001:db8::1 5432', 'b 5432']],
    ['postgresql://a:1,b:2', ['a 1', 'b 2']],
    ['postgresql://u@,b/shop', ['localhost 5432', 'b 5432']],
  ])('are read from %s as libpq reads them', (url, hosts) => {
    expect(hostsOf(url)).toEqual(hosts)
  })

  test('keep user, password, database and other parameters', () => {
    const url =
      'postgresql://us%40er:p%2Fa%3As%2Cs%40@a,b:5433/sh%20op?options=-c%20a%3Db&target_session_attrs=read-write'
    const { user, database, target, config } = parseDatabaseUrl(url)
    expect({ user, database, target, password: config.password, options: config.options }).toEqual({
      user: 'us@er',
      database: 'sh op',
      target: 'read-write',
      password: 'p/a:s,s@',
      options: '-c a=b',
    })
  })

  test.each([
    [
      'postgresql://root:hunter2@a:x,b/app',
      'a port is not a number from 1 to 65535; in a password special characters are percent-encoded, # as %23',
    ],
    [
      'postgresql://root:hunt,er2/x@a/app',
      'a port is not a number from 1 to 65535; in a password special characters are percent-encoded, # as %23',
    ],
    [
      'postgresql://root:hunter2@a:0,b/app',
      'a port is not a number from 1 to 65535; in a password special characters are percent-encoded, # as %23',
    ],
    ['postgresql://root:hunter2@a,b,c/app?port=1,2', 'the value names 3 hosts and 2 ports'],
    [
      'postgresql://root:hunter2@a,%zz/app',
      'the value is not a URL; in a password special characters are percent-encoded, # as %23',
    ],
    [
      'postgresql://root:hunter2@a,[::1/app',
      'the value is not a URL; in a password special characters are percent-encoded, # as %23',
    ],
    [
      'postgresql://a,b/app?target_session_attrs=master',
      'target_session_attrs is not read-write, primary or any',
    ],
  ])('are rejected in %s without a part of the value', (url, fault) => {
    expect(faultOf(url)).toBe(fault)
  })

  test.each(['read-only', 'standby', 'prefer-standby'])(
    'cannot be used with target_session_attrs=%s',
    (target) => {
      expect(faultOf(`postgresql://a,b/app?target_session_attrs=${target}`)).toBe(
        `target_session_attrs=${target} leads to a standby, and Basalt needs the primary: use read-write`,
      )
    },
  )

  test('are named in messages without the password, and kept for another database', () => {
    const url = 'postgresql://u:hunter2@a,[::1]:5433/shop?target_session_attrs=primary'
    expect(describeUrl(url)).toBe('a:5432,[::1]:5433/shop')
    expect(branchUrl(url, 'try')).toBe(
      'postgresql://u:hunter2@a,[::1]:5433/shop_try?target_session_attrs=primary',
    )
    expect(hostsOf(withDatabaseName(url, 'x y'))).toEqual(['a 5432', '::1 5433'])
  })
})

describe('database URL › property', () => {
  const name = fc.stringMatching(/^[a-z][a-z0-9.-]{0,20}$/)
  const address = fc.oneof(
    name.map((host) => ({ host, text: host })),
    fc.ipV6().map((host) => ({ host, text: `[${host}]` })),
    name.map((part) => ({ host: `/run/${part}`, text: encodeURIComponent(`/run/${part}`) })),
  )
  const hosts = fc.array(fc.record({ address, port: fc.option(fc.integer({ min: 1, max: 65_535 })) }), {
    minLength: 2,
    maxLength: 5,
  })
  const anything = fc
    .string({ unit: 'binary', minLength: 1, maxLength: 20 })
    .filter((text) => text.isWellFormed())

  test('reads back every list of hosts, user and password', () => {
    fc.assert(
      fc.property(hosts, anything, anything, (list, user, password) => {
        const listed = list
          .map(({ address: { text }, port }) => (port === null ? text : `${text}:${port}`))
          .join()
        const url = `postgresql://${encodeURIComponent(user)}:${encodeURIComponent(password)}@${listed}/shop`
        const parsed = parseDatabaseUrl(url)
        expect(parsed.hosts).toEqual(
          list.map(({ address: { host }, port }) => ({ host, port: port ?? 5432 })),
        )
        expect([parsed.user, parsed.config.password]).toEqual([user, password])
        if (password.length > 3) expect(describeUrl(url)).not.toContain(encodeURIComponent(password))
      }),
    )
  })

  test('reads a URL with one host as the driver does', () => {
    fc.assert(
      fc.property(
        address,
        fc.option(fc.integer({ min: 1, max: 65_535 })),
        anything,
        ({ text }, port, password) => {
          const url = `postgresql://u:${encodeURIComponent(password)}@${text}${port === null ? '' : `:${port}`}/shop?a=b`
          const {
            hosts: [host],
            config,
          } = parseDatabaseUrl(url)
          expect({ ...config, ...host }).toEqual({ port: undefined, ...parseIntoClientConfig(url) })
        },
      ),
    )
  })

  test('parses any text, or rejects it without a part of it', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(faultOf(`postgresql://root:hunter2${text}`)).not.toContain('hunter2')
      }),
    )
  })
})
