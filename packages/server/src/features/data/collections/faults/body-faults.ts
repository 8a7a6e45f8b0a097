import type { Column, Relation } from '../../../../database/catalog/model.ts'
import type { StatementFailed } from '../../../../database/connection/message.ts'
import {
  hasUnstorableCharacter,
  translateDatabaseFailure,
} from '../../../../database/errors/error-translation.ts'
import type { AppError } from '../../../../lib/errors.ts'
import { lengthLimit } from '../compile/body.ts'
import { compileGeneratedColumns, compileGeneratedProbe, type GeneratedColumn } from '../compile/probes.ts'
import { compileValueCheck, keepBody, writeSlots } from '../compile/write.ts'
import { fill } from '../statement-cache.ts'
import { firstFailure, type Probe } from './probe.ts'

/** Columns and JSON text of the body that a statement writes. */
export interface WriteBody {
  readonly columns: readonly Column[]
  readonly json: string
}

/**
 * Returns the error for a value that does not fit its column, or that a generated column cannot be computed from.
 *
 * @param relation target of the write
 */
export async function findBodyFault(
  probe: Probe,
  failure: StatementFailed,
  relation: Relation | undefined,
  body: WriteBody,
): Promise<AppError | undefined> {
  if (relation === undefined || body.columns.length === 0) return undefined
  // Such a character invalidates the whole body.
  if (hasUnstorableCharacter(failure.error) && unstorable.test(body.json)) {
    return translateDatabaseFailure(failure)
  }
  const { columns, json } = body
  const { statements } = probe
  const keep = fill(statements.template(keepBody), writeSlots(json, []))
  const checks = columns.map((column) => statements.call(compileValueCheck(relation, column)))
  const misfit = await firstFailure(probe, [keep, ...checks])
  if (misfit !== undefined) return namingColumn(misfit, columns[misfit.index - 1])
  if (assignmentCodes.has(failure.error.code ?? '')) {
    const long = columns.find((column) => isTooLong(column, json))
    if (long !== undefined) return namingColumn(failure, long)
  }
  const generated = await findGenerated(probe, relation)
  const computed = generated.map((each) => statements.call(compileGeneratedProbe(relation, columns, each)))
  const uncomputed = await firstFailure(probe, computed.length === 0 ? [] : [keep, ...computed])
  if (uncomputed === undefined || uncomputed.error.code !== failure.error.code) return undefined
  return namingColumn(uncomputed, undefined)
}

async function findGenerated(
  { caller, database, statements }: Probe,
  relation: Relation,
): Promise<readonly GeneratedColumn[]> {
  if (!relation.columns.some(({ isGenerated }) => isGenerated)) return []
  const call = statements.call(compileGeneratedColumns(relation))
  const [answer] = await database.run(caller.scope, [call], { isRead: true })
  return JSON.parse(answer?.rows[0]?.[0] ?? '[]')
}

function namingColumn(failure: StatementFailed, column: Column | undefined): AppError | undefined {
  const error = translateDatabaseFailure(failure)
  // A domain has constraints of the operator, too, which may fail by themselves.
  if (error === undefined || error.status >= 500) return undefined
  const isConstraint = failure.error.code?.startsWith('23') === true
  if (column === undefined || isConstraint) return error
  // For a geometry, PostGIS says more than the error itself.
  const detail = error.extras.data?.geometry ?? { code: error.kind, message: error.message }
  return error.with({ data: { [column.name]: detail } })
}

/** Pattern of U+0000 or half of a surrogate pair, as JSON writes them. */
const unstorable = /\\u(?:0000|d[89a-f])/i

/** SQLSTATEs of text and bits that are too long for their column. They occur only when the value is stored. */
const assignmentCodes = new Set(['22001', '22026'])

/** Returns whether the value is text or bits longer than the column allows. A plain conversion would truncate it. */
function isTooLong({ name, typeName }: Column, json: string): boolean {
  const limit = lengthLimit(typeName)
  if (limit === undefined) return false
  const value: unknown = JSON.parse(json)[name]
  return typeof value === 'string' && [...value].length > limit
}
