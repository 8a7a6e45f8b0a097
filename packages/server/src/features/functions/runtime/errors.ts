import { defineErrors } from '../../../lib/errors.ts'

export const runtimeErrorTable = {
  noSuchFunction: {
    status: 404,
    message: (method: string, path: string) => `no function serves ${method} ${path}`,
    help: 'No file in the folder `functions` exports a route with this method and path.',
  },
  functionNameNotFound: {
    status: 404,
    message: (name: string) => `there is no route with the name ${JSON.stringify(name)}`,
    help: 'The name of a function is that of its export, or that of its file for a default export. Only routes are invoked by name.',
  },
  invalidInvocation: {
    status: 400,
    message: (problem: string) => problem,
    help: 'A member of the invocation of a function is invalid. The message names it: `params` has a text for each parameter of the path, `as` is the id of a user or `anonymous`, and `commit` requires a `reason`.',
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
  invalidEnqueue: {
    status: 400,
    message: (problem: string) => problem,
    help: 'A function has called `ctx.enqueue` with an unknown job, an invalid payload, key or time. The message names it. The payload is an object of at most 65,536 bytes that matches the schema of the job.',
  },
  invalidFunctionMessage: {
    status: 400,
    message: (problem: string) => problem,
    help: 'A function has called `ctx.mail`, `ctx.push` or `ctx.emit` with a value that JSON and PostgreSQL cannot store.',
  },
  inboundRefused: {
    status: 401,
    message: 'the message was refused',
    help: 'The signature of the message is missing or wrong, or the message is older than the `tolerance` of the inbound function. The response does not show which.',
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
  callAborted: {
    status: 503,
    message: 'the call was aborted before the function returned',
    help: 'The client has disconnected, the session of the administrator has ended, or the server stops. The transaction was rolled back.',
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
  tooManyStreams: {
    status: 503,
    message: (most: number) => `too many streamed responses: this server sends ${most} at once`,
    help: 'Many clients read responses that functions stream. The transaction was rolled back. Repeat the request after the time in `Retry-After`.',
  },
  noConnection: {
    status: 503,
    message: 'no database connection is free for the functions',
    help: 'Functions, and writes with `before` hooks that use the database, have `functions.connections` connections. All of them were in use. Repeat the request after the time in `Retry-After`.',
  },
  hookDepthExceeded: {
    status: 409,
    message: (most: number) => `before hooks have written records with hooks more than ${most} levels deep`,
    help: 'A `before` hook writes records whose hooks write again, such as those of its own table. Nothing was written. Write by `ctx.db.sql`, which passes no hooks, or end the recursion by a condition.',
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
  asAdminRefused: {
    status: 403,
    message: 'the function is not declared with admin: true',
    help: '`ctx.asAdmin` is for routes and inbound functions whose options have `admin: true`.',
  },
  asAdminUnavailable: {
    status: 503,
    message: 'functions with admin: true are not available on this database',
    help: 'Their transactions need the login role `basalt_administrator`, which may become the roles of callers. The server log names the statement that an administrator of the database has to run. Databases with distributed tables have no such functions.',
  },
  tooManyStatements: {
    status: 400,
    message: (most: number, unit: 'statements' | 'bytes') =>
      `the call sends more than ${most} ${unit} at once`,
    help: 'The statements of a call run one after the other, and those that wait are in the memory of the server. Await some before you send more, or write many rows by one statement.',
  },
  inputTooLarge: {
    status: 413,
    message: 'the input is too large for a function',
    help: 'A call with its input has at most 16 MiB as JSON. Upload large contents as files.',
  },
  storageNotOffered: {
    status: 400,
    message: 'ctx.storage is not available here',
    help: 'Before hooks, `onSignUp`, `claims` and `sendMail` have no `ctx.storage`, because their transaction is that of other work. Use a route, a job, a schedule, or an `after` or `inbound` function.',
  },
  resultTooLarge: {
    status: 400,
    message: (most: number, unit: 'rows' | 'bytes') => `the statement returns more than ${most} ${unit}`,
    help: '`ctx.db.sql` returns a limited number of rows and bytes. The statement was undone. Add a `limit`, select fewer columns, or aggregate in SQL.',
  },
} as const

export const runtimeErrors = defineErrors(runtimeErrorTable)
