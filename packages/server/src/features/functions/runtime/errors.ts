import { defineErrors } from '../../../lib/errors.ts'

export const runtimeErrorTable = {
  noSuchFunction: {
    status: 404,
    message: (method: string, path: string) => `no function serves ${method} ${path}`,
    help: 'No file in the folder `functions` exports a route with this method and path.',
  },
  functionRefused: {
    status: 400,
    message: 'the function refused the request',
    help: 'A function has thrown an error with a status from 400 to 499. The response has this status and the message of the error. The slug is that of the error, if it has one.',
  },
  invalidInput: {
    status: 400,
    message: (problem: string) => problem,
    help: 'The input does not match the schema of the function. The message names the member.',
  },
  functionFailed: {
    status: 500,
    message: 'the function failed',
    help: 'The code of the function has thrown an error, or returned a result that does not match its schema. The transaction was rolled back. The server log has the error with its stack, by the id of the request.',
  },
  functionTimeout: {
    status: 504,
    message: (seconds: number) => `the function took longer than ${seconds} s`,
    help: 'The call was ended at its time limit, and its transaction was rolled back. The limit is `functions.timeout`, or a lower `timeout` of the function.',
  },
  functionProcessEnded: {
    status: 503,
    message: 'the process of the functions ended during the call',
    help: 'The transaction was rolled back. The process has crashed, reached `functions.memory_mb`, or was blocked by an endless loop. Another one starts. The server log has the reason.',
  },
  functionsUnavailable: {
    status: 503,
    message: 'functions are not available',
    help: 'The process of the functions is starting, or their code could not be loaded. The server log has the reason.',
  },
  tooManyCalls: {
    status: 503,
    message: (most: number) => `too many calls of functions: this server runs ${most} at once`,
    help: 'Many calls wait, for example for a slow service. Repeat the request after the time in `Retry-After`.',
  },
  transactionEnded: {
    status: 409,
    message: 'the transaction of this call has ended',
    help: 'A function has used `ctx.db` after it returned, failed or reached its time limit. Await every statement before the function returns.',
  },
  statementNotAllowed: {
    status: 400,
    message: (problem: string) => problem,
    help: '`ctx.db.sql` runs one statement that reads or writes rows. It can neither end the transaction nor change the role, the claims or other settings.',
  },
  resultTooLarge: {
    status: 400,
    message: (most: number) => `the statement returns more than ${most} rows`,
    help: '`ctx.db.sql` returns a limited number of rows. Add a `limit`, or aggregate in SQL.',
  },
} as const

export const runtimeErrors = defineErrors(runtimeErrorTable)
