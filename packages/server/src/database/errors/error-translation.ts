import pg from 'pg'
import { AppError } from '../../lib/errors.ts'
import { StatementFailed } from '../connection/message.ts'
import { isRejectedByCitus } from '../distributed/worker-failures.ts'
import { definitionError, isRaised, originOf } from './definition-faults.ts'
import { databaseErrors } from './errors.ts'
import { ConnectionLost, PoolExhausted } from './failures.ts'
import { isOfPostGis } from './postgis.ts'

/**
 * Translates a failure of the database layer into an API error; returns undefined for any other failure. No
 * client mistake becomes a 500, and no SQL leaves the server.
 */
export function translateDatabaseFailure(failure: unknown): AppError | undefined {
  if (failure instanceof ConnectionLost)
    return databaseErrors.databaseUnavailable().retryAfter(1).with({ cause: failure })
  if (failure instanceof PoolExhausted) {
    const seconds = Math.max(1, Math.ceil((failure.waitMs ?? 0) / 1000))
    // An overload rejects thousands a second. A log line for each would take more time than a response.
    const { message: detail } = failure
    return databaseErrors.databaseBusy().with({
      headers: { 'retry-after': String(seconds) },
      cause: failure,
      detail,
      logKey: detail,
    })
  }
  if (failure instanceof StatementFailed) return translate(failure.error)?.with({ cause: failure.error })
  if (failure instanceof pg.DatabaseError) return translate(failure)?.with({ cause: failure })
  return undefined
}

/** Returns the PostgreSQL error that a failure is or contains, if any. */
export function databaseErrorOf(failure: unknown): pg.DatabaseError | undefined {
  const error = failure instanceof StatementFailed ? failure.error : failure
  return error instanceof pg.DatabaseError ? error : undefined
}

function translate(error: pg.DatabaseError): AppError | undefined {
  if (isRaised(error)) return translateRaised(error)
  // A caller that knows the relation has named it already.
  if (originOf(error) === 'definition') return definitionError(error, calledIn(error), false)
  if (isOfPostGis(error)) return invalidGeometry(error)
  if (isRejectedByCitus(error)) return databaseErrors.unsupportedOnDistributedTable(error.message)
  return translationOf(error)?.(error)
}

function translationOf({ code = '' }: pg.DatabaseError): Translation | undefined {
  return bySqlState[code] ?? byClass[code.slice(0, 2)]
}

/** Returns the outermost function that failed, or the relation in the error. */
function calledIn({ where = '', table }: pg.DatabaseError): string {
  const names = [...where.matchAll(/^(?:SQL|PL\/\w+) function "?([^\s"]+)/gm)].map(([, name]) => name)
  return names.at(-1) ?? table ?? 'the database'
}

/**
 * Translates an error of RAISE, whose text reaches the client. That is the message of P0001, of PTxyz and of
 * codes with no other meaning, and with any code HINT and DETAIL.
 */
function translateRaised(error: pg.DatabaseError): AppError {
  const status = statusOf(error)
  const answer =
    status === undefined
      ? (translationOf(error)?.(error) ?? raised(error))
      : new AppError('raised', status, error.message)
  if (answer.status >= 500) return answer
  const data = {
    ...answer.extras.data,
    ...(answer.message.includes(error.message) ? {} : { message: error.message }),
    ...(error.hint === undefined ? {} : { hint: error.hint }),
    ...(error.detail === undefined ? {} : { detail: error.detail }),
  }
  return Object.keys(data).length === 0 ? answer : answer.with({ data })
}

/** Returns the status by PostgREST's convention: `PT402` is the status 402. */
function statusOf({ code = '' }: pg.DatabaseError): number | undefined {
  const [, status] = /^PT([45]\d\d)$/.exec(code) ?? []
  return status === undefined ? undefined : Number(status)
}

/** Translation of an error; undefined hides it from the client. */
type Translation = (error: pg.DatabaseError) => AppError | undefined

const raised = (error: pg.DatabaseError): AppError => databaseErrors.raised(error.message)
const busy: Translation = () => databaseErrors.databaseBusy().retryAfter(1)
const unavailable: Translation = () => databaseErrors.databaseUnavailable().retryAfter(1)

/**
 * Pattern of the context that Postgres adds to a failure in parsing a value. Any other context is that of a
 * function or a trigger.
 */
const valueContext = /^(unnamed portal|portal "|invalid type name)/

/**
 * Translates an error of the request itself. The same error inside a function or a trigger is a fault of that.
 */
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
 * Translates an invalid name in a value, such as a `regclass`: it is malformed, ambiguous or unknown. Postgres
 * reports a position for a name in a statement.
 */
const nameAsValue: Translation = (error) => {
  const isValue = error.where === undefined ? error.position === undefined : valueContext.test(error.where)
  return isValue ? databaseErrors.invalidValue(describeInvalidValue(error)) : undefined
}

/**
 * Translation of an invalid hstore, which before PostgreSQL 16 is an internal error. Only the source file
 * distinguishes it.
 */
const hstoreFault = outsideFunctions((error) =>
  error.file === 'hstore_io.c' ? databaseErrors.invalidValue(describeInvalidValue(error)) : undefined,
)

const bySqlState: Readonly<Record<string, Translation>> = {
  // LIKE with some collations, or a type that accepts no values. An expired plan has the same code.
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
  // The type has no such operator, for example a row that contains a json. A missing function would be our
  // fault.
  '42883': outsideFunctions((error) =>
    error.routine === 'ParseFuncOrColumn' ? undefined : databaseErrors.unsupportedOperation(error.message),
  ),
  // The condition of a view, and a row that a trigger sent to another partition.
  '44000': () => databaseErrors.checkViolation(),
  '40001': () => databaseErrors.conflict(),
  '40P01': () => databaseErrors.conflict(),
  // Lock not available: lock_timeout is set.
  '55P03': () => databaseErrors.conflict(),
  '53200': busy,
  '53300': busy,
  // An index entry, an array, or a text search vector.
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
  // RAISE, and errors that PL/pgSQL itself raises: a missing row, a failed assertion.
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

/**
 * Messages of PostgreSQL about the character that it cannot store in text, as a parameter and as `\u0000` in
 * JSON.
 */
const nulInText = 'invalid byte sequence for encoding "UTF8": 0x00'
const nulInJson = 'unsupported Unicode escape sequence'

/** Pattern of its DETAIL for one of `\ud83d\ude00` without the other. */
const loneSurrogate = /^Unicode (high|low) surrogate /

/** Returns true if JSON contains a character, at any position, that the database cannot store in text. */
export function hasUnstorableCharacter({ code, detail = '' }: pg.DatabaseError): boolean {
  return code === '22P05' || loneSurrogate.test(detail)
}

/**
 * Describes an invalid value: `invalid input syntax for type integer: "abc"` → `invalid integer value "abc" —
 * expected a whole number, …`
 */
function describeInvalidValue({ message, detail = '' }: pg.DatabaseError): string {
  const found = /^invalid input syntax for type ([^:]+)(: .*)?$/s.exec(message)
  // Postgres names the function by which it reads JSON.
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

/** Maximum length of a quotation. Postgres repeats the value, which can be as long as the request. */
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
 * Returns true if outdated definitions can explain a failure. An object was dropped, has another type or
 * disappeared during the statement. Or a value does not fit the type that its column had.
 */
export function mayBlameOldDefinitions(failure: unknown): boolean {
  const error = failure instanceof StatementFailed ? failure.error : failure
  if (!(error instanceof pg.DatabaseError)) return false
  const { code = '', dataType } = error
  if (code === '42501') return false
  // Only the constraints of a domain belong to the type.
  return definitionClasses.has(code.slice(0, 2)) || code === '55000' || (code.startsWith('23') && !!dataType)
}

/**
 * SQLSTATE classes: feature not supported, data exceptions, invalid statement, schema and access rule, internal
 * error.
 */
const definitionClasses = new Set(['0A', '22', '26', '3F', '42', 'XX'])
