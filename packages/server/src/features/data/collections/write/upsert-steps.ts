import type { Catalog, Relation } from '../../../../database/catalog/model.ts'
import type { Capture } from '../../../../database/change-log.ts'
import type { Answer, Call } from '../../../../database/connection/message.ts'
import type { Precondition } from '../access/precondition.ts'
import type { VersionedRecord } from '../access/representation.ts'
import type { Collections } from '../collections.ts'
import { compileGetConflicting, compileSameKey } from '../compile/upsert.ts'
import { formOf, preconditionSlots } from '../compile/version.ts'
import { compileTagged, writeSlots } from '../compile/write.ts'
import { compileUpsertStatement } from '../compile/write-statement.ts'
import { collectionErrors } from '../errors.ts'
import type { RecordBody } from '../parse/record-body.ts'
import type { Reader } from '../plan/reader.ts'
import { planWholeRecord, type RecordPlan } from '../plan/record.ts'
import type { UpsertPlan } from '../plan/upsert.ts'
import { fill } from '../statement-cache.ts'
import { findCapture } from './capture.ts'
import type { CheckedWrite } from './precondition.ts'

export interface UpsertWrite {
  readonly catalog: Catalog
  readonly reader: Reader
  readonly relation: Relation
  readonly body: RecordBody
  readonly plan: UpsertPlan
  /** Form of the returned record; undefined for the whole record. */
  readonly answer?: RecordPlan | undefined
  /** True if the statements fail when they produce no record. */
  readonly requiresRow: boolean
  /** Part of the request that the text of the statements depends on. */
  readonly shape: string
  /** Condition on the record that has the key. A record is then never created. */
  readonly precondition?: Precondition | undefined
  /** True if the result has the version of the record. */
  readonly isTagged?: boolean
}

export interface UpsertSteps {
  readonly write: Call
  readonly capture: Capture | undefined
  /**
   * Statements that read the existing record when the conflict is ignored. It may have been created after the
   * snapshot of the write.
   */
  readonly read: readonly Call[]
}

/** Returns the write of a record that is found by its key in the body, for its precondition. */
export function checkedUpsert(
  { statements }: Collections,
  { reader }: Pick<UpsertWrite, 'reader'>,
  {
    relation,
    body,
    plan,
    answer,
    precondition,
  }: Omit<UpsertWrite, 'catalog' | 'reader' | 'requiresRow' | 'shape' | 'isTagged'>,
): CheckedWrite {
  return {
    relation,
    precondition,
    find() {
      const record = answer ?? planWholeRecord(relation, reader)
      const condition = compileSameKey(plan.key, 't')
      return { record, call: statements.fill(compileTagged(record, condition), writeSlots(body.json, [])) }
    },
  }
}

export interface UpsertResult extends VersionedRecord {
  /** False when a record with the same key was found. */
  readonly isCreated: boolean
}

/** Returns the statements of an upsert, compiled once for their shape. */
export function upsertSteps(
  { statements, changes }: Collections,
  {
    catalog,
    reader,
    relation,
    body,
    plan,
    answer,
    requiresRow,
    shape,
    precondition,
    isTagged = false,
  }: UpsertWrite,
): UpsertSteps {
  const slots = { ...writeSlots(body.json, []), ...preconditionSlots(precondition) }
  const condition = formOf(precondition)
  const names = plan.key.map(({ name }) => `${name.length} ${name}`).join()
  const capture = findCapture(changes, { relation, action: 'upsert', form: 'upsert', reader })
  const isCaptured = capture?.takesChanges === true
  const positions = body.columns.map(({ position }) => position).join()
  const { collection } = relation
  const key = `upsert ${isCaptured} ${requiresRow} ${isTagged} ${condition} ${plan.action} ${reader} ${positions} ${names} ${collection.length} ${collection}${shape}`
  const templates = statements.remember(catalog, key, () => {
    const whole = planWholeRecord(relation, reader)
    return {
      write: statements.template(
        compileUpsertStatement(whole, body.columns, plan, {
          isCaptured,
          requiresRow,
          answer,
          condition,
          isTagged,
        }),
      ),
      read: statements.template(compileGetConflicting(answer ?? whole, plan.key, { requiresRow, isTagged })),
    }
  })
  return {
    write: fill(templates.write, slots),
    capture,
    read: plan.action === 'ignore' ? [fill(templates.read, slots)] : [],
  }
}

/**
 * Returns the result of the statements. If they are tagged, it has the version of the record.
 *
 * @throws AppError row_discarded, conflict_hidden
 */
export function readUpsert(
  { action }: UpsertPlan,
  wrote: Answer | undefined,
  found: Answer | undefined,
  isTagged = false,
): UpsertResult {
  const versionOf = (text: string | null | undefined) => (isTagged ? (text ?? undefined) : undefined)
  const [record, isCreated, version] = wrote?.rows[0] ?? []
  if (record != null) return { isCreated: isCreated === 't', record, version: versionOf(version) }
  const [existing, versionFound] = found?.rows[0] ?? []
  if (existing != null) return { isCreated: false, record: existing, version: versionOf(versionFound) }
  throw action === 'update' ? collectionErrors.rowDiscarded() : collectionErrors.conflictHidden()
}

const uniqueViolation = '23505'

/**
 * Returns whether a retry may find the record by the key that the upsert names. When concurrent requests create the
 * same record, one may hit another unique key first. Once the other request is committed, its record is found by the
 * named key. A record that shares only the other key fails again.
 */
export function mayFindKeyNow({ code }: { readonly code?: string | undefined }): boolean {
  return code === uniqueViolation
}
