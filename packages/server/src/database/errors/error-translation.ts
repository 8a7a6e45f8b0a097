import pg from 'pg'
import type { AppError } from '../../lib/errors.ts'
import { StatementFailed } from '../connection/message.ts'
import { databaseErrors } from './errors.ts'
import { ConnectionLost, PoolExhausted } from './failures.ts'

/**
 * Turns what the database layer throws into an error of the API; anything else is answered undefined. No client
 * mistake ends as a 500, and no SQL leaves the server.
 */
export function translateDatabaseFailure(failure: unknown): AppError | undefined {
  if (failure instanceof ConnectionLost)
    return databaseErrors.databaseUnavailable().retryAfter(1).with({ cause: failure })
  if (failure instanceof PoolExhausted)
    return databaseErrors.databaseBusy().retryAfter(1).with({ cause: failure })
  if (failure instanceof StatementFailed) return translate(failure.error)?.with({ cause: failure.error })
  if (failure instanceof pg.DatabaseError) return translate(failure)?.with({ cause: failure })
  return undefined
}

/** The error of PostgreSQL that a failure is or has, if any. */
export function databaseErrorOf(failure: unknown): pg.DatabaseError | undefined {
  const error = failure instanceof StatementFailed ? failure.error : failure
  return error instanceof pg.DatabaseError ? error : undefined
}

function translate(error: pg.DatabaseError): AppError | undefined {
  const code = error.code ?? ''
  if (isOfPostGis(error)) return invalidGeometry(error)
  const translation = bySqlState[code] ?? byClass[code.slice(0, 2)]
  return translation?.(error) ?? (isRaised(error) ? raised(error) : undefined)
}

/** Undefined: not for the client to know. */
type Translation = (error: pg.DatabaseError) => AppError | undefined

const raised: Translation = (error) => databaseErrors.raised(error.message)
const busy: Translation = () => databaseErrors.databaseBusy().retryAfter(1)
const unavailable: Translation = () => databaseErrors.databaseUnavailable().retryAfter(1)

/** Whether PL/pgSQL's RAISE made it: whatever the code, its author wrote the message to be read. */
export function isRaised(error: pg.DatabaseError): boolean {
  return error.routine === 'exec_stmt_raise'
}

/** What Postgres adds to a failure in reading a value; anything else is of a function or a trigger. */
const valueContext = /^(unnamed portal|portal "|invalid type name)/

/**
 * A statement of a function or one for a foreign table, as PostgreSQL says in CONTEXT: `PL/pgSQL function f() line 3 at
 * RETURN`, `remote SQL command: SELECT …`.
 */
const functionContext = /\b(?:SQL|PL\/\w+) function |^remote SQL command: /m

/** Classes and codes that say the same inside a function: the client, a right or the state of the server is to blame. */
const statesBeyondFunctions = /^(?:08|23|40|44|53|57|58|25006|42501|428C9|54000|55P03)/

/**
 * Whether what the operator defined is at fault, by the error alone: policies that look at each other (42P17), a subquery
 * with several rows (21000), a trigger that changes the row it is for by a statement of its own (27000), a foreign table
 * that does not fit its wrapper (HV) or to whose server callers have no user mapping, or none with the password they need
 * (2F003), or a function that fails other than by RAISE.
 */
export function isDefinitionFault(error: pg.DatabaseError): boolean {
  const { code = '', routine, where } = error
  if (isRaised(error)) return false
  if (/^(?:42P17|21000|27000|2F003|HV)/.test(code) || routine === 'GetUserMapping') return true
  return where !== undefined && functionContext.test(where) && !statesBeyondFunctions.test(code)
}

/** Wrong patterns are values of the client, and are seen only when a row is compared with them. */
const patternCodes = new Set(['22019', '22025'])

/** Whether it is a data exception of which PostgreSQL tells neither a function nor a parameter. */
export function isUnplacedDataFault(error: pg.DatabaseError): boolean {
  const { code = '', where = '', position } = error
  if (!code.startsWith('22') || patternCodes.has(code) || isRaised(error) || isOfPostGis(error)) return false
  // A constant of the statement's text, where it has values in place of parameters.
  if (position !== undefined) return false
  return !parameterContext.test(where) && !functionContext.test(where)
}

/** A parameter whose value cannot be read. */
const parameterContext = /^(?:unnamed portal|portal ")/m

/** @param showsText whether the caller may see what PostgreSQL says, which names what callers need not know */
export function definitionError(error: pg.DatabaseError, collection: string, showsText: boolean): AppError {
  const { code = '', message, where, hint, detail } = error
  // PostgreSQL names the relation whose policies look at each other.
  const relation = /in policy for relation "(.*)"$/.exec(message)?.[1] ?? collection
  const text = Object.entries({ message, detail, hint, where }).filter(([, value]) => value !== undefined)
  return databaseErrors.databaseDefinitionError(code, relation).with({
    data: { sqlState: code, relation, ...(showsText ? Object.fromEntries(text) : {}) },
    detail: where === undefined ? message : `${message}, ${where.replaceAll(/\s*\n\s*/g, ', ')}`,
    cause: error,
    logKey: `${code} ${relation} ${where ?? ''}`,
  })
}

/** PostGIS reports most of what it refuses as XX000, an internal error: only its source files tell it from one. */
function isOfPostGis({ file = '', code = '' }: pg.DatabaseError): boolean {
  return /^(XX000|22)/.test(code) && /\b(lwgeom|gserialized|geography|geometry)_\w+\.c$/.test(file)
}

/** Of the request itself; the same inside a function or a trigger is a fault of that. */
function outsideFunctions(translation: Translation): Translation {
  return (error) =>
    error.where === undefined || valueContext.test(error.where) || isRaised(error)
      ? translation(error)
      : undefined
}

const invalidGeometry = outsideFunctions((error) =>
  databaseErrors.invalidGeometry().with({
    data: { geometry: { code: 'invalid_geometry', message: shorten(error.message) } },
  }),
)

/**
 * A name that is a value, as a `regclass` has them: it is malformed, ambiguous or of nothing. Where the name stands
 * in a statement, Postgres tells the position.
 */
const nameAsValue: Translation = (error) => {
  const isValue = error.where === undefined ? error.position === undefined : valueContext.test(error.where)
  return isValue ? databaseErrors.invalidValue(describeInvalidValue(error)) : undefined
}

/** What is no hstore, which before PostgreSQL 16 is an internal error: only the source file tells it from one. */
const hstoreFault = outsideFunctions((error) =>
  error.file === 'hstore_io.c' ? databaseErrors.invalidValue(describeInvalidValue(error)) : undefined,
)

const bySqlState: Readonly<Record<string, Translation>> = {
  // LIKE with some collations, a type that takes no values. A plan that has expired says the same.
  '0A000': outsideFunctions((error) =>
    error.routine === 'RevalidateCachedQuery'
      ? undefined
      : databaseErrors.unsupportedOperation(error.message),
  ),
  '23502': (error) =>
    databaseErrors.notNullViolation().with({
      data: { [error.column ?? 'column']: { code: 'not_null_violation', message: error.message } },
    }),
  '23503': constraintError('foreign_key_violation', databaseErrors.foreignKeyViolation),
  '23505': constraintError('unique_violation', databaseErrors.uniqueViolation),
  '23514': constraintError('check_violation', databaseErrors.checkViolation),
  '23P01': constraintError('exclusion_violation', databaseErrors.exclusionViolation),
  '23001': constraintError('restrict_violation', databaseErrors.restrictViolation),
  '25006': () => databaseErrors.readOnlyDatabase().retryAfter(5),
  '3F000': nameAsValue,
  '42601': nameAsValue,
  '42602': nameAsValue,
  // A label of an ltree.
  '42622': nameAsValue,
  '42704': nameAsValue,
  '42725': nameAsValue,
  '42P01': nameAsValue,
  '42P02': nameAsValue,
  '428C9': (error) => databaseErrors.readOnlyColumn(error.message),
  '42501': () => databaseErrors.insufficientPermissions(),
  // No such operator for the type, say for a row with a json in it. A missing function would be ours.
  '42883': outsideFunctions((error) =>
    error.routine === 'ParseFuncOrColumn' ? undefined : databaseErrors.unsupportedOperation(error.message),
  ),
  // A view's condition, and the row a trigger sent to another partition.
  '44000': () => databaseErrors.checkViolation(),
  '40001': () => databaseErrors.conflict(),
  '40P01': () => databaseErrors.conflict(),
  // Lock not available: lock_timeout is set.
  '55P03': () => databaseErrors.conflict(),
  '53200': busy,
  '53300': busy,
  // An index entry, an array, a text search vector.
  '54000': () => databaseErrors.valueTooLarge(),
  '54001': () => databaseErrors.requestTooComplex(),
  '54011': () => databaseErrors.requestTooComplex(),
  '54023': () => databaseErrors.requestTooComplex(),
  '55000': outsideFunctions((error) => databaseErrors.notReady(error.message)),
  '57014': () => databaseErrors.statementTimeout(),
  '57P01': unavailable,
  '57P02': unavailable,
  '57P03': unavailable,
  '57P04': unavailable,
  '57P05': unavailable,
  XX000: hstoreFault,
}

const byClass: Readonly<Record<string, Translation>> = {
  '08': unavailable,
  '22': (error) => databaseErrors.invalidValue(describeInvalidValue(error)),
  '23': constraintError('integrity_constraint_violation', databaseErrors.integrityViolation),
  '53': () => databaseErrors.databaseFull().retryAfter(5),
  '58': unavailable,
  // RAISE, and what PL/pgSQL raises by itself: a missing row, a failed assertion.
  P0: raised,
}

function constraintError(code: string, create: () => AppError): Translation {
  return (error) =>
    create().with({
      data: {
        [error.constraint ?? error.table ?? 'constraint']: { code, message: error.detail ?? error.message },
      },
    })
}

/** What PostgreSQL says of the character that its texts cannot hold, as a parameter and as `\u0000` in JSON. */
const nulInText = 'invalid byte sequence for encoding "UTF8": 0x00'
const nulInJson = 'unsupported Unicode escape sequence'

/** What it says, in DETAIL, of one of `\ud83d\ude00` without the other. */
const loneSurrogate = /^Unicode (high|low) surrogate /

/** Whether JSON has a character, wherever in it, that the texts of the database cannot hold. */
export function hasUnstorableCharacter({ code, detail = '' }: pg.DatabaseError): boolean {
  return code === '22P05' || loneSurrogate.test(detail)
}

/** `invalid input syntax for type integer: "abc"` → `invalid integer value "abc" — expected a whole number, …` */
function describeInvalidValue({ message, detail = '' }: pg.DatabaseError): string {
  const found = /^invalid input syntax for type ([^:]+)(: .*)?$/s.exec(message)
  // Postgres names the function it reads JSON with.
  const mismatch = /^cannot call \w+ on (an? \w+)$/.exec(message)
  if (mismatch !== null) return `invalid value: expected a JSON object, not ${mismatch[1]}`
  if (message === nulInText || message === nulInJson)
    return 'invalid value: text cannot hold the character U+0000'
  if (loneSurrogate.test(detail)) return 'invalid value: text cannot hold half of a surrogate pair'
  if (found === null) return `invalid value: ${shorten(message)}`
  const [, type = '', value] = found
  const what = `invalid ${type} value${value === undefined ? '' : ` ${shorten(value.slice(2))}`}`
  const hint = valueHints[type]
  return hint === undefined ? what : `${what} — ${hint}`
}

/** Postgres repeats the value, which can be as long as the request. */
const quoteLimit = 500

function shorten(text: string): string {
  return text.length <= quoteLimit ? text : `${text.slice(0, quoteLimit).toWellFormed()}…`
}

const wholeNumber = 'expected a whole number, e.g. 42'
const number = 'expected a number, e.g. 3.14'
const json = 'expected valid JSON, e.g. {"key": "value"}'

const valueHints: Readonly<Record<string, string>> = {
  uuid: 'expected format: 550e8400-e29b-41d4-a716-446655440000',
  smallint: wholeNumber,
  integer: wholeNumber,
  bigint: wholeNumber,
  numeric: number,
  real: number,
  'double precision': number,
  boolean: 'expected true or false',
  json,
  jsonb: json,
}

/**
 * Whether a statement made for definitions of before a change can fail so: an object was dropped, has another type or went
 * while the statement was looked at, or a value does not fit the type that its column had.
 */
export function mayBlameOldDefinitions(failure: unknown): boolean {
  const error = failure instanceof StatementFailed ? failure.error : failure
  if (!(error instanceof pg.DatabaseError)) return false
  const { code = '', dataType } = error
  if (code === '42501') return false
  // Of the constraints only those of a domain come with the type.
  return definitionClasses.has(code.slice(0, 2)) || code === '55000' || (code.startsWith('23') && !!dataType)
}

/** Feature not supported, data exceptions, invalid statement, schema and access rule, internal error. */
const definitionClasses = new Set(['0A', '22', '26', '3F', '42', 'XX'])
