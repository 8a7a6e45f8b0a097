import pg from 'pg'
import { type AppError, messageOf } from '../../lib/errors.ts'
import { StatementFailed } from '../connection/message.ts'
import { databaseErrors } from './errors.ts'
import { isOfPostGis } from './postgis.ts'

/** Faults of what the operator defined, told from those of the request and from the state of the server. */

/**
 * - `definition`: an expression of the operator's, whatever the request holds.
 * - `request`: a value or name of the request, a constraint or a right.
 * - `state`: a lock, a limit or the end of a connection, which say nothing of either.
 * - `unplaced`: PostgreSQL does not say. It is of the request if its values fail by themselves, else of a definition.
 */
export type FaultOrigin = 'definition' | 'request' | 'state' | 'unplaced'

/** Returns whether PL/pgSQL's RAISE made it: whatever the code, its author wrote the message to be read. */
export function isRaised(error: pg.DatabaseError): boolean {
  return error.routine === 'exec_stmt_raise'
}

/**
 * A statement of a function or one for a foreign table, as PostgreSQL says in CONTEXT: `PL/pgSQL function f() line 3 at
 * RETURN`, `remote SQL command: SELECT …`.
 */
const functionContext = /^(?:(?:SQL|PL\/\w+) function |remote SQL command: )/m

/** The first is the innermost; ours are no definitions of the operator's. */
const ownFunction = /^(?:SQL|PL\/\w+) function "?basalt\./

/** A parameter whose value cannot be read. */
const parameterContext = /^(?:unnamed portal|portal ")/m

/** Connections, collisions, resources, interventions, input and output, a read-only server, a lock. */
const states = /^(?:08|26|40|53|57|58|25006|55P03)/

/**
 * Policies that look at each other, a subquery with several rows, a trigger that changes its row by a statement of its own,
 * a foreign table that does not fit its wrapper, or to whose server callers have no user mapping or none with a password.
 */
const definitionCodes = /^(?:42P17|21000|27000|2F003|HV)/

/** A plan that has expired; a materialized view that was never filled. */
const stateRoutines = new Set(['RevalidateCachedQuery', 'ExecOpenScanRelation'])

/** Where a failure arose, as far as the error itself tells. */
export function originOf(error: pg.DatabaseError): FaultOrigin {
  const { code = '', routine = '', where = '', position } = error
  if (isRaised(error)) return 'request'
  if (definitionCodes.test(code) || routine === 'GetUserMapping') return 'definition'
  if (states.test(code) || stateRoutines.has(routine)) return 'state'
  const called = functionContext.exec(where)
  if (called !== null && !ownFunction.test(where.slice(called.index))) {
    // A constraint speaks to clients wherever it is, as does a policy that refuses a row.
    if (code.startsWith('23') || code === '44000') return 'request'
    if (code === '42501') return isMissingPrivilege(error) ? 'definition' : 'request'
    return code === '54000' ? 'unplaced' : 'definition'
  }
  // A constant of the statement's text, where it has values in place of parameters. With a context it is of another text.
  const isConstant = position !== undefined && where === ''
  if (called !== null || parameterContext.test(where) || isConstant) return 'request'
  if (/^(?:23|42501|428C9|44000)/.test(code)) return 'request'
  const isInternal = code.startsWith('XX') && !isOfPostGis(error) && !isOfHstore(error)
  return isInternal ? 'request' : 'unplaced'
}

/** Before PostgreSQL 16 what is no hstore is an internal error: only the source file tells it from one. */
export function isOfHstore({ file }: pg.DatabaseError): boolean {
  return file === 'hstore_io.c'
}

/** Returns whether a privilege is missing (aclchk.c); a policy that refuses a row has the same code. */
export function isMissingPrivilege({ code, routine }: pg.DatabaseError): boolean {
  return code === '42501' && routine?.startsWith('aclcheck_error') === true
}

/**
 * The error for a fault of what the operator defined.
 *
 * @param relation the one whose definitions were evaluated
 * @param showsText whether the caller may see what PostgreSQL says, which can quote rows that are hidden from callers
 */
export function definitionError(error: pg.DatabaseError, relation: string, showsText: boolean): AppError {
  const { code = '', message } = error
  // PostgreSQL names the relation whose policies look at each other.
  const named = /in policy for relation "(.*)"$/.exec(message)?.[1] ?? relation
  const described = describeWithoutValues(error)
  return databaseErrors.databaseDefinitionError(code, named).with({
    data: { sqlState: code, relation: named, ...(showsText ? textOf(error) : {}) },
    detail: described,
    cause: error,
    logKey: `${code} ${named} ${described}`,
  })
}

/** The same with what PostgreSQL says, for a server in development. */
export function withText(error: AppError): AppError {
  const { cause, data } = error.extras
  if (
    error.kind !== databaseErrors.databaseDefinitionError('', '').kind ||
    !(cause instanceof pg.DatabaseError)
  ) {
    return error
  }
  return error.with({ data: { ...textOf(cause), ...data } })
}

function textOf({ message, detail, hint, where }: pg.DatabaseError): Readonly<Record<string, unknown>> {
  const text = Object.entries({ message, detail, hint, where })
  return Object.fromEntries(text.filter(([, value]) => value !== undefined))
}

/** The lines of CONTEXT that name functions; others quote statements and values. */
const functionLine = /^(?:SQL|PL\/\w+) function .*$/gm

/**
 * What PostgreSQL says in one line, for a log: without the values of rows, which can be secrets. Names stay where they are
 * those of a statement in a function, which PostgreSQL marks by a position; of a statement made at run time even they can be
 * values.
 */
export function describeWithoutValues(error: pg.DatabaseError): string {
  const { code = '', message, where = '', internalPosition } = error
  const isWritten = internalPosition !== undefined && !/ at EXECUTE$/m.test(where)
  const isNamed = isWritten || definitionCodes.test(code) || isMissingPrivilege(error)
  const said = code === assertionFailed ? 'an assertion failed' : isNamed ? message : maskValues(message)
  return [said, ...(where.match(functionLine) ?? [])].join(', ').replaceAll(/\s+/g, ' ')
}

/** The reason of a failure for a log: of an error of PostgreSQL its SQLSTATE, and what it says without values. */
export function describeReason(failure: unknown): string {
  const error = failure instanceof StatementFailed ? failure.error : failure
  return error instanceof pg.DatabaseError
    ? `SQLSTATE ${error.code}: ${describeWithoutValues(error)}`
    : messageOf(failure)
}

/** The message of ASSERT is an expression. */
const assertionFailed = 'P0004'

/** From the first quote of any language to the last; a value may have quotes in it. */
const quotedPart = /["»«„“‚‘].*["»«“”’‘]/s

function maskValues(message: string): string {
  if (quotedPart.test(message)) return message.replace(quotedPart, '"…"')
  return message.replace(/: .*$/s, ': …')
}
