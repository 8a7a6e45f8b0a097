import { defineErrors } from '../../../lib/errors.ts'

export const sqlRunnerErrorTable = {
  invalidSqlRequest: {
    status: 400,
    message: (problem: string) => problem,
    help: 'A member of the body is missing or malformed. The message says what was expected.',
  },
  sqlFailed: {
    status: 400,
    message: (message: string) => message,
    help: "PostgreSQL rejected a statement. `data` has the SQLSTATE, the number of the statement from 0, line and position in the text, and PostgreSQL's further details. Statements of the same transaction are undone.",
  },
  sqlReadOnlyUnavailable: {
    status: 409,
    message: (remedy: string) => `read-only runs have no login of their own: ${remedy}`,
    help: 'Read-only statements log in as `basalt_reader`, which the server creates if its login may. The message names the statement or the setting that makes it possible. Until then no other role is used instead. `mode: "write"` runs as the login of the server.',
  },
  sqlWriteUnavailable: {
    status: 409,
    message: (remedy: string) => `SQL of developers that writes has no login of its own: ${remedy}`,
    help: 'Developers write as `basalt_developer`, which the server creates if its login may. The message names the statement or the setting that makes it possible.',
  },
  sqlRunNotFound: {
    status: 404,
    message: 'no run with this id is in flight',
    help: 'The run has ended, or never existed. See `GET /api/admin/sql/runs`.',
  },
  sqlRunNotRecorded: {
    status: 404,
    message: 'no run with this id is on record',
    help: 'The last thousand runs are kept. See `GET /api/admin/sql/runs`.',
  },
  sqlRunExists: {
    status: 409,
    message: 'there is a run with this id',
    help: 'The client chooses the id of a run, and each id can be used once. Use a random UUID.',
  },
  sqlRunCanceled: {
    status: 409,
    message: 'the run was canceled',
    help: 'An administrator canceled the run, or its client disconnected. Uncommitted changes are undone.',
  },
  tooManySqlRuns: {
    status: 429,
    message: (most: number) => `too many runs: this server runs ${most} at once`,
    help: 'Each run uses a database connection. Wait for one to end, or cancel one.',
  },
  sqlTimeout: {
    status: 504,
    message: (seconds: number) => `the run took longer than ${seconds} s`,
    help: 'Uncommitted changes are undone. `timeoutSeconds` of the request can be up to 600.',
  },
  tooManySqlTabs: {
    status: 409,
    message: (most: number) => `too many tabs: at most ${most} are stored`,
    help: 'The tabs of the SQL editor are stored for its administrator. Delete one, or save its text as a query.',
  },
  savedQueryNotFound: {
    status: 404,
    message: 'saved query not found',
    help: 'No query is saved under this id.',
  },
  savedQueryNameTaken: {
    status: 409,
    message: (name: string) => `a query is saved as "${name}"`,
    help: 'Names of saved queries are unique. Choose another name, or change the existing query.',
  },
  savedQueryChanged: {
    status: 409,
    message: 'the saved query has been changed',
    help: 'The query has another version than the request names, because another administrator has saved it. `data.current` is the present one.',
  },
} as const

export const sqlRunnerErrors = defineErrors(sqlRunnerErrorTable)
