import type { Catalog, Relation } from '../../../../database/catalog/model.ts'
import {
  type Capture,
  type ChangeAction,
  isNotCaptured,
  withCapture,
} from '../../../../database/change-log.ts'
import { type Answer, type Call, StatementFailed } from '../../../../database/connection/message.ts'
import type { WritesOnce } from '../../idempotency/index.ts'
import type { Caller } from '../access/caller.ts'
import { bulkSlots, compileBulk, readUnexpectedCount } from '../compile/bulk.ts'
import { isRowMissing } from '../compile/required-row.ts'
import { changeForm, compileWrite, writeSlots } from '../compile/write.ts'
import { collectionErrors } from '../errors.ts'
import type { ExplainFailure, Work } from '../faults/explain.ts'
import type { RecordBody } from '../parse/record-body.ts'
import { type BulkPlan, relationsOfBulk } from '../plan/bulk.ts'
import type { Reader } from '../plan/reader.ts'
import { planWholeRecord, type RecordPlan, relationsOf } from '../plan/record.ts'
import type { UpsertPlan } from '../plan/upsert.ts'
import { fill, type StatementCache } from '../statement-cache.ts'
import type { FindCapture } from './capture.ts'
import { missingRow } from './missing-row.ts'
import { mayFindKeyNow, readUpsert, upsertSteps } from './upsert-steps.ts'

export interface WriteDeps {
  readonly isAudited: boolean
  readonly statements: StatementCache
  readonly writesOnce: WritesOnce
  readonly findCapture: FindCapture
  readonly explainFailure: ExplainFailure
}

/** Who writes where. */
export interface WriteContext {
  readonly catalog: Catalog
  readonly caller: Caller
  readonly reader: Reader
  /** The query string, as far as the text of the statement depends on it. */
  readonly shape: string
}

/** A write of one record. */
export interface RecordWrite {
  readonly action: ChangeAction
  readonly relation: Relation
  readonly body: RecordBody
  readonly id: readonly string[]
  /** What is answered; undefined: the whole record. */
  readonly answer?: RecordPlan | undefined
}

/** Runs writes of the data API: each is one message, and is handed on when there is a listener. */
export interface Writes {
  /** @throws AppError row_discarded, change_discarded, record_not_found when it touched no row */
  write<Result>(
    context: WriteContext,
    write: RecordWrite,
    read: (answer: Answer | undefined) => Result,
  ): Promise<Result>
  upsert(
    context: WriteContext,
    write: Omit<RecordWrite, 'action' | 'id'> & { readonly plan: UpsertPlan },
  ): Promise<UpsertResult>
  bulk(context: WriteContext, plan: BulkPlan, json: string, expect: number): Promise<BulkResult>
}

export interface UpsertResult {
  readonly isCreated: boolean
  readonly record: string
}

export interface BulkResult {
  readonly count: number
  /** The records as a JSON array, if they were asked for. */
  readonly records: string | null
}

export const nothingWritten: RecordBody = { json: '', columns: [] }

export function createWrites(deps: WriteDeps): Writes {
  const { statements, writesOnce, isAudited, findCapture, explainFailure } = deps

  /** Runs the write with what follows it, then the further calls. @param read gets the answers of these two */
  async function run<Result>(
    { caller }: WriteContext,
    work: Work,
    { write, capture, further = [] }: Run,
    read: (answers: readonly (Answer | undefined)[]) => Result,
  ): Promise<Result> {
    const { scope, key, isAbandoned, origin } = caller
    const steps = [...withCapture(write, capture), ...further]
    const isRecorded = isAudited || capture !== undefined
    const options = {
      isRead: false,
      isAbandoned,
      origin: isRecorded ? origin?.() : undefined,
    }
    try {
      const result = await writesOnce.run({ key, scope, steps, options }, (answers) =>
        read([answers[0], ...answers.slice(steps.length - further.length)]),
      )
      capture?.committed()
      return result
    } catch (error) {
      if (isNotCaptured(error)) {
        capture?.doubt()
        throw error
      }
      if (error instanceof StatementFailed && isCountFailure(error)) throw error
      throw (await explainFailure(caller, error, work)) ?? error
    }
  }

  /** Compiled once per set of columns and shape of the request. */
  function key(name: string, { reader, shape }: WriteContext, relation: Relation, body: RecordBody): string {
    const positions = body.columns.map(({ position }) => position).join()
    return `${name} ${reader} ${positions} ${relation.collection.length} ${relation.collection}${shape}`
  }

  return {
    async write(context, { action, relation, body, id, answer }, read) {
      const { catalog, reader } = context
      const slots = writeSlots(body.json, id)
      const capture = findCapture({ relation, action, form: changeForm(action), reader })
      const isCaptured = capture?.takesChanges === true
      const template = statements.remember(
        catalog,
        key(`${action} ${isCaptured}`, context, relation, body),
        () =>
          statements.template(
            compileWrite(action, planWholeRecord(relation, reader), body.columns, {
              isCaptured,
              answer,
            }),
          ),
      )
      const relations = answer === undefined ? [relation] : relationsOf(answer)
      const work = writeOf(relations, action === 'delete' ? undefined : body)
      try {
        return await run(context, work, { write: fill(template, slots), capture }, ([written]) =>
          read(written),
        )
      } catch (error) {
        if (!(error instanceof StatementFailed && isRowMissing(error))) throw error
        throw missingRow(error, action)
      }
    },

    async upsert(context, { relation, body, answer, plan }) {
      const { catalog, reader, shape } = context
      const steps = { catalog, reader, relation, body, plan, answer, requiresRow: false, shape }
      const { write, capture, read } = upsertSteps(deps, steps)
      const work = writeOf(answer === undefined ? [relation] : relationsOf(answer), body)
      const attempt = () =>
        run(context, work, { write, capture, further: read }, ([wrote, found]) =>
          readUpsert(plan, wrote, found),
        )
      return await attempt().catch((error) => {
        if (error instanceof StatementFailed && mayFindKeyNow(error.error)) return attempt()
        throw error
      })
    },

    async bulk(context, plan, json, expect) {
      const { catalog, reader } = context
      const { action, rows, columns } = plan
      const { relation } = rows
      const slots = bulkSlots(json, expect)
      const capture = findCapture({ relation, action, form: 'array', reader })
      const isCaptured = capture?.takesChanges === true
      const body = { json, columns }
      const template = statements.remember(
        catalog,
        key(`bulk ${action} ${isCaptured}`, context, relation, body),
        () => statements.template(compileBulk(plan, isCaptured)),
      )
      const work = { ...writeOf(relationsOfBulk(plan), action === 'delete' ? undefined : body), rows }
      try {
        return await run(context, work, { write: fill(template, slots), capture }, ([answer]) => {
          const [count, records = null] = answer?.rows[0] ?? []
          return { count: Number(count), records }
        })
      } catch (error) {
        const found = error instanceof StatementFailed ? readUnexpectedCount(error) : undefined
        if (found === undefined) throw error
        throw found > plan.limit
          ? collectionErrors
              .unexpectedCount(expect, `more than ${plan.limit}`)
              .with({ data: { expected: expect } })
          : collectionErrors
              .unexpectedCount(expect, String(found))
              .with({ data: { expected: expect, found } })
      }
    },
  }
}

/** A write, its capture, and what follows. */
interface Run {
  readonly write: Call
  readonly capture: Capture | undefined
  readonly further?: readonly Call[]
}

function writeOf(relations: Work['relations'], body: Work['body']): Work {
  return { action: 'write', relations, body }
}

/** A failure of ours, about how many rows there are. */
function isCountFailure(failure: StatementFailed): boolean {
  return isRowMissing(failure) || readUnexpectedCount(failure) !== undefined
}
