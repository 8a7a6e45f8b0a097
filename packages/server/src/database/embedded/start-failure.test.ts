import { expect, test } from 'vitest'
import { startFailure } from './start-failure.ts'

const begin = '2026-05-01 10:00:00.000 UTC [17] '

test.each([
  [
    'returns the first fatal message',
    [`${begin}LOG:  starting PostgreSQL`, `${begin}FATAL:  could not create lock file: No space left`],
    'FATAL:  could not create lock file: No space left',
  ],
  [
    'joins the message with its detail',
    [`${begin}FATAL:  database files are incompatible`, `${begin}DETAIL:  The cluster was made by 16.`],
    'FATAL:  database files are incompatible: The cluster was made by 16.',
  ],
  [
    'skips rejected connections of a cluster that another process starts',
    [
      `${begin}FATAL:  the database system is starting up`,
      `${begin}FATAL:  lock file "postmaster.pid" already exists`,
    ],
    'FATAL:  lock file "postmaster.pid" already exists',
  ],
  [
    'returns the output of pg_ctl without a fatal message',
    [`${begin}FATAL:  the database system is shutting down`],
    'pg_ctl: server did not start in time',
  ],
])('start failure › %s', (_, log, failure) => {
  expect(startFailure(log.join('\n'), '\npg_ctl: server did not start in time\n')).toBe(failure)
})
