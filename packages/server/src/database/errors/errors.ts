import { defineErrors } from '../../lib/errors.ts'

/** Errors of Postgres in the API. */
export const databaseErrorTable = {
  uniqueViolation: {
    status: 409,
    message: 'unique constraint violation',
    help: 'Another record has the same value. `data` names the constraint.',
  },
  foreignKeyViolation: {
    status: 400,
    message: 'foreign key violation',
    help: 'The record refers to a missing record, or other records refer to it. `data` names the constraint.',
  },
  notNullViolation: {
    status: 400,
    message: 'missing required value',
    help: 'A column that may not be null has no value. `data` names the column.',
  },
  checkViolation: {
    status: 400,
    message: 'check constraint violation',
    help: 'A value breaks a rule of the table. `data` names the constraint.',
  },
  exclusionViolation: {
    status: 400,
    message: 'exclusion constraint violation',
    help: 'The record conflicts with another one. `data` names the constraint.',
  },
  restrictViolation: {
    status: 400,
    message: 'the record is still referred to',
    help: 'Other records refer to this one and forbid the change.',
  },
  integrityViolation: {
    status: 400,
    message: 'constraint violation',
    help: 'The change breaks a constraint of the database.',
  },
  invalidValue: {
    status: 400,
    message: (problem: string) => problem,
    help: 'A value does not fit the type of its column. The message says what was expected, and `data` names the column of a body.',
  },
  invalidGeometry: {
    status: 400,
    message: 'invalid GeoJSON geometry',
    help: 'The value is not a GeoJSON geometry (RFC 7946), or does not have the kind, dimensions or reference system of its column. `data` has the reason.',
  },
  readOnlyColumn: {
    status: 400,
    message: (problem: string) => problem,
    help: 'The database generates the column, which cannot be written.',
  },
  unsupportedOperation: {
    status: 400,
    message: (problem: string) => problem,
    help: 'The type of the column has no such operator or sort order.',
  },
  unsupportedOnDistributedTable: {
    status: 400,
    message: (problem: string) => `not supported on a distributed table: ${problem}`,
    help: 'Citus cannot run the statement of the request on a distributed table. The message has its reason. See the guide to distributed tables.',
  },
  requestTooComplex: {
    status: 400,
    message: 'the request is too complex',
    help: 'The request nests too deeply or names too many columns for the database.',
  },
  valueTooLarge: {
    status: 400,
    message: 'a value is too large for its type or for an index of its column',
    help: 'The database cannot store a value of this size in the column. Its type or an index on it has a limit.',
  },
  raised: {
    status: 400,
    message: (message: string) => message,
    help: 'A trigger or function of the database rejected the change. The message is its own.',
  },
  databaseDefinitionError: {
    status: 500,
    message: (sqlState: string, relation: string) =>
      `a definition of the database failed on "${relation}" (SQLSTATE ${sqlState})`,
    help: 'A policy, view, trigger, function, default or constraint of the database has failed, such as policies that refer to each other (42P17). `data` has the SQLSTATE and the relation, and for administrators the text of PostgreSQL. See the guide to row-level security.',
  },
  localTableOnWorker: {
    status: 500,
    message: (relation: string) =>
      `a function on the workers of "${relation}" reads a table that is only on the coordinator`,
    help: 'A policy, default or constraint of a distributed table calls a function. Citus runs the function on the workers, but its table is only on the coordinator. Make the table a reference table, or distribute it. `data` has the SQLSTATE and the relation, and for administrators the text of PostgreSQL. The advisor `local_table_on_worker` lists such policies. See the guide to distributed tables.',
  },
  insufficientPermissions: {
    status: 403,
    message: (problem?: string) =>
      problem === undefined ? 'insufficient permissions' : `insufficient permissions: ${problem}`,
    help: 'A missing grant or a row-level security policy forbids the request. Creating and updating return the record, so they also need a policy that lets the caller read it.',
  },
  conflict: {
    status: 409,
    message: 'the change conflicts with a concurrent one',
    help: 'Concurrent transactions collided several times in a row. Nothing was changed. Retry.',
  },
  notReady: {
    status: 503,
    message: (problem: string) => problem,
    help: 'An object of the database is not in the required state, such as a materialized view that has never been filled.',
  },
  readOnlyDatabase: {
    status: 503,
    message: 'the database is read-only',
    help: 'The database accepts no writes at the moment. Retry later.',
  },
  databaseFull: {
    status: 503,
    message: 'the database is out of space',
    help: 'The disk of the database, or another limit of it, is exhausted. Nothing was changed.',
  },
  databaseUnavailable: {
    status: 503,
    message: 'the database is unavailable',
    help: 'The connection to the database was lost or could not be made. A write may or may not have happened.',
  },
  databaseBusy: {
    status: 503,
    message: 'the database is busy',
    help: 'No connection became free within `database.acquire_timeout_ms`, or none is expected to at the current rate. Nothing was changed. Retry after the seconds of `Retry-After`.',
  },
  statementTimeout: {
    status: 504,
    message: 'the database took too long',
    help: 'The statement ran longer than `database.statement_timeout_ms`. Nothing was changed.',
  },
} as const

export const databaseErrors = defineErrors(databaseErrorTable)
