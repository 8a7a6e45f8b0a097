import { describe, expect, test } from 'vitest'
import { testConfig } from '../../../test/test-config.ts'
import { OperatorError } from '../../lib/errors.ts'
import { type Check, type CheckContext, ok, warning } from './check.ts'
import { CheckSkipped } from './check-skipped.ts'
import { formatReport, summarize } from './report.ts'
import { runChecks } from './run-checks.ts'

const config = testConfig({
  'database.url': 'postgresql://app:p%40ss-word@a.internal:5432,b.internal:5432/shop',
  'database.replica_urls': 'postgresql://app:of%20replica@c.internal/shop',
  'auth.jwt_secret': 'a-secret-of-at-least-thirty-two-characters',
})
const contextFor = (signal: AbortSignal) => ({ signal }) as unknown as CheckContext
const run = (...checks: Check[]) => runChecks(checks, config, contextFor)
const throwing = (id: string, error: unknown): Check => ({
  id,
  run: async () => {
    throw error
  },
})

describe('basalt doctor › checks', () => {
  test('ends a check that hangs after its time, and aborts its signal', async () => {
    let isAborted = false
    const hanging: Check = {
      id: 'slow',
      timeoutMs: 20,
      run: ({ signal }) =>
        new Promise((_, reject) => {
          signal.addEventListener('abort', () => {
            isAborted = true
            reject(new Error('aborted'))
          })
        }),
    }
    const quick: Check = { id: 'quick', run: async () => [ok('quick', 'done')] }
    expect(await run(hanging, quick)).toEqual([
      { id: 'slow', status: 'failure', message: 'no result after 0.02 s', fix: null },
      { id: 'quick', status: 'ok', message: 'done', fix: null },
    ])
    expect(isAborted).toBe(true)
  })

  test('turns the error of a check into a finding of its own', async () => {
    expect(
      await run(
        throwing('none', new CheckSkipped('nothing to check')),
        throwing('operator', new OperatorError('too old')),
        throwing('bug', new TypeError('x is undefined')),
      ),
    ).toEqual([
      { id: 'none', status: 'skipped', message: 'nothing to check', fix: null },
      { id: 'operator', status: 'failure', message: 'too old', fix: null },
      { id: 'bug', status: 'failure', message: 'the check failed: x is undefined', fix: null },
    ])
  })

  test('findings contain no configured secret and no control character', async () => {
    const leaking: Check = {
      id: 'leak',
      run: async () => [
        warning('leak', `cannot use ${config.database.url}`, `set ${config.auth.jwt_secret}`),
        warning('leak', 'password p%40ss-word', 'password p@ss-word \x1b[31m'),
        warning('leak', `cannot use ${config.database.replica_urls}`, 'password of replica'),
      ],
    }
    expect(await run(leaking)).toEqual([
      { id: 'leak', status: 'warning', message: 'cannot use [redacted]', fix: 'set [redacted]' },
      { id: 'leak', status: 'warning', message: 'password [redacted]', fix: 'password [redacted] \\x1b[31m' },
      { id: 'leak', status: 'warning', message: 'cannot use [redacted]', fix: 'password [redacted]' },
    ])
  })
})

describe('basalt doctor › report', () => {
  const report = summarize([
    ok('clock', 'same time'),
    warning('backup', 'none', 'basalt backup FILE'),
    { id: 'tls', status: 'skipped', message: 'no address', fix: null },
    { id: 'roles.gateway', status: 'failure', message: 'too much', fix: 'alter role x;' },
    { id: 'disk', status: 'failure', message: 'full', fix: null },
  ])

  test('lists failures first, each with the line that mends it', () => {
    expect(formatReport(report, false)).toBe(
      [
        'failure  roles.gateway  too much',
        '                        → alter role x;',
        'failure  disk           full',
        'warning  backup         none',
        '                        → basalt backup FILE',
        'ok       clock          same time',
        'skipped  tls            no address',
        '',
        '2 failures, 1 warning, 1 ok, 1 skipped',
        '',
      ].join('\n'),
    )
  })

  test('colors the status on a terminal only', () => {
    expect(formatReport(report, true)).toContain('\x1b[31mfailure\x1b[0m  roles.gateway')
    expect(formatReport(report, false)).not.toContain('\x1b')
  })

  test('has the worst status', () => {
    expect(report.status).toBe('failure')
    expect(summarize([ok('clock', 'same'), warning('backup', 'none', 'x')]).status).toBe('warning')
    expect(summarize([ok('clock', 'same')]).status).toBe('ok')
    expect(summarize([]).status).toBe('ok')
  })
})
