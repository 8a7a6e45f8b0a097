import pg from 'pg'
import { type AppError, messageOf } from '../../lib/errors.ts'
import { StatementFailed } from '../connection/message.ts'
import { isMissingOnWorker, isRejectedByCitus } from '../distributed/worker-failures.ts'
import { databaseErrors } from './errors.ts'
import { isOfPostGis } from './postgis.ts'

/**
 * Origin of a fault:
 * - `definition`: an expression of the operator, whatever the request contains.
 * - `request`: a value or name of the request, a constraint or a privilege.
 * - `state`: a lock, a limit or the end of a connection, which is the fault of neither.
 * - `unknown`: unknown to PostgreSQL. The request is at fault if its values fail by themselves, else a
 *   definition.
 */
export type FaultOrigin = 'definition' | 'request' | 'state' | 'unknown'

/**
 * Returns true if PL/pgSQL's RAISE made the error. Whatever the code, its author wrote the message for readers.
 */
export function isRaised(error: pg.DatabaseError): boolean {
  return error.routine === 'exec_stmt_raise'
}

/**
 * Pattern of a CONTEXT line for a statement of a function or of a foreign table: `PL/pgSQL function f() line 3
 * at RETURN`, `remote SQL command: SELECT …`.
 */
const functionContext = /^(?:(?:SQL|PL\/\w+) function |remote SQL command: )/m

/**
 * Pattern of a CONTEXT that begins with one of our functions, the innermost one. They are no definitions of the
 * operator.
 */
const ownFunction = /^(?:SQL|PL\/\w+) function "?basalt\./

/** Pattern of a CONTEXT for a parameter with an unreadable value. */
const parameterContext = /^(?:unnamed portal|portal ")/m

/**
 * SQLSTATEs of connections, collisions, resources, interventions, input and output, a read-only server, and a
 * lock.
 */
const states = /^(?:08|26|40|53|57|58|25006|55P03)/

/**
 * SQLSTATEs of mutually recursive policies, a subquery with several rows, a trigger that changes its row by a
 * statement of its own, and foreign tables. A foreign table may not fit its wrapper. Callers may have no user
 * mapping for its server, or none with a password.
 */
const definitionCodes = /^(?:42P17|21000|27000|2F003|HV)/

/** Routines that report an expired plan, or a materialized view without data. */
const stateRoutines = new Set(['RevalidateCachedQuery', 'ExecOpenScanRelation'])

/** Returns the origin of a failure, as far as the error itself shows it. */
export function originOf(error: pg.DatabaseError): FaultOrigin {
  const { code = '', routine = '', where = '', position } = error
  if (isRaised(error) || isRejectedByCitus(error)) return 'request'
  if (definitionCodes.test(code) || routine === 'GetUserMapping') return 'definition'
  if (states.test(code) || stateRoutines.has(routine)) return 'state'
  const called = functionContext.exec(where)
  if (called !== null && !ownFunction.test(where.slice(called.index))) {
    // A constraint addresses clients, wherever it is, and so does a policy that rejects a row.
    if (code.startsWith('23') || code === '44000') return 'request'
    if (code === '42501') return isMissingPrivilege(error) ? 'definition' : 'request'
    return code === '54000' ? 'unknown' : 'definition'
  }
  // The position is in a constant of the statement's text, which has values in place of parameters. With a
  // context it is in another text.
  const isConstant = position !== undefined && where === ''
  if (called !== null || parameterContext.test(where) || isConstant) return 'request'
  if (/^(?:23|42501|428C9|44000)/.test(code)) return 'request'
  const isInternal = code.startsWith('XX') && !isOfPostGis(error) && !isOfHstore(error)
  return isInternal ? 'request' : 'unknown'
}

/**
 * Returns true if the error comes from the source file of hstore. Before PostgreSQL 16 an invalid hstore is an
 * internal error otherwise.
 */
export function isOfHstore({ file }: pg.DatabaseError): boolean {
  return file === 'hstore_io.c'
}

/** Returns true if a privilege is missing (aclchk.c); a policy that rejects a row has the same code. */
export function isMissingPrivilege({ code, routine }: pg.DatabaseError): boolean {
  return code === '42501' && routine?.startsWith('aclcheck_error') === true
}

/**
 * Returns the error for a fault in a definition of the operator.
 *
 * @param relation the one whose definitions were evaluated
 * @param showsText whether the caller may see PostgreSQL's text, which can quote hidden rows
 */
export function definitionError(error: pg.DatabaseError, relation: string, showsText: boolean): AppError {
  const { code = '', message } = error
  // PostgreSQL names the relation whose policies refer to each other.
  const named = /in policy for relation "(.*)"$/.exec(message)?.[1] ?? relation
  const described = describeWithoutValues(error)
  const fault = isMissingOnWorker(error)
    ? databaseErrors.localTableOnWorker(named)
    : databaseErrors.databaseDefinitionError(code, named)
  return fault.with({
    data: { sqlState: code, relation: named, ...(showsText ? textOf(error) : {}) },
    detail: described,
    cause: error,
    logKey: `${code} ${named} ${described}`,
  })
}

/** Kinds of {@link definitionError}. */
const definitionKinds = new Set([
  databaseErrors.databaseDefinitionError('', '').kind,
  databaseErrors.localTableOnWorker('').kind,
])

/** Returns the error with PostgreSQL's text, for a server in development. */
export function withText(error: AppError): AppError {
  const { cause, data } = error.extras
  if (!definitionKinds.has(error.kind) || !(cause instanceof pg.DatabaseError)) {
    return error
  }
  return error.with({ data: { ...textOf(cause), ...data } })
}

function textOf({ message, detail, hint, where }: pg.DatabaseError): Readonly<Record<string, unknown>> {
  const text = Object.entries({ message, detail, hint, where })
  return Object.fromEntries(text.filter(([, value]) => value !== undefined))
}

/** Pattern of the CONTEXT lines that name functions; others quote statements and values. */
const functionLine = /^(?:SQL|PL\/\w+) function .*$/gm

/** Returns the CONTEXT line of the outermost function that failed: `PL/pgSQL function f() line 3 at RETURN`. */
export function findOutermostFunction({ where = '' }: pg.DatabaseError): string | undefined {
  return where.match(functionLine)?.at(-1)
}

/**
 * Formats PostgreSQL's message in one line for a log, without the values of rows, which can be secrets. Names
 * of a statement in a function are kept; PostgreSQL marks it by a position. In a statement made at run time
 * even names can be values.
 */
export function describeWithoutValues(error: pg.DatabaseError): string {
  const { code = '', message, where = '', internalPosition } = error
  const isWritten = internalPosition !== undefined && !/ at EXECUTE$/m.test(where)
  const isNamed =
    isWritten || definitionCodes.test(code) || isMissingPrivilege(error) || isMissingOnWorker(error)
  const said = code === assertionFailed ? 'an assertion failed' : isNamed ? message : maskValues(message)
  return [said, ...(where.match(functionLine) ?? [])].join(', ').replaceAll(/\s+/g, ' ')
}

/**
 * Formats the reason of a failure for a log. An error of PostgreSQL has its SQLSTATE, and its message without
 * values.
 */
export function describeReason(failure: unknown): string {
  const error = failure instanceof StatementFailed ? failure.error : failure
  return error instanceof pg.DatabaseError
    ? `SQLSTATE ${error.code}: ${describeWithoutValues(error)}`
    : messageOf(failure)
}

/** SQLSTATE of a failed ASSERT, whose message is an expression. */
const assertionFailed = 'P0004'

/** Pattern from the first quote of any language to the last; a value may contain quotes. */
const quotedPart = /["»«„“‚‘].*["»«“”’‘]/s

function maskValues(message: string): string {
  if (quotedPart.test(message)) return message.replace(quotedPart, '"…"')
  return message.replace(/: .*$/s, ': …')
}
