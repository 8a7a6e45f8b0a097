import type { Step } from '../../../../database/caller/caller-steps.ts'
import type { Catalog, Relation } from '../../../../database/catalog/model.ts'
import type { Capture, ChangeForm, ChangeLog, WriteAction } from '../../../../database/change-log.ts'
import { compileWholeRows, type Written } from '../compile/whole-rows.ts'
import type { Reader } from '../plan/reader.ts'
import { fill, type SlotValues, type StatementCache } from '../statement-cache.ts'

/** Finds what surrounds a write that has a listener; undefined without one. */
export type FindCapture = (write: {
  readonly catalog: Catalog
  readonly relation: Relation
  readonly action: WriteAction
  readonly form: ChangeForm
  readonly reader: Reader
  /** Which rows are written: without it the one of the id, or a new one. */
  readonly written?: Written
  /** What `written` depends on beside the collection; for one that comes with it. */
  readonly shape?: string
  readonly slots: SlotValues
}) => Capture | undefined

export function createCaptureFinder(changes: ChangeLog, statements: StatementCache): FindCapture {
  const committed = () => changes.committed()
  return ({ catalog, relation, action, form, reader, slots, written = { kind: 'id' }, shape = '' }) => {
    const actions = action === 'upsert' ? (['create', 'update'] as const) : [action]
    const calls = actions.flatMap((each) => changes.capture(relation, each, form) ?? [])
    if (calls.length === 0) return undefined
    if (reader === 'unrestricted') return { before: [], after: calls, committed }
    const key = `whole ${action} ${form} ${reader} ${relation.collection.length} ${relation.collection}${shape}`
    const whole = statements.remember(catalog, key, () => {
      const compiled = compileWholeRows(relation, action, form, reader, written)
      if (compiled === undefined) return { before: [], after: [] }
      const { check, before, after } = compiled
      return {
        before: [
          ...(check === undefined ? [] : [{ template: statements.template(check), asLogin: false }]),
          ...(before === undefined ? [] : [{ template: statements.template(before), asLogin: true }]),
        ],
        after: [statements.template(after)],
      }
    })
    return {
      before: whole.before.map(({ template, asLogin }): Step => ({ ...fill(template, slots), asLogin })),
      after: [...whole.after.map((template) => fill(template, slots)), ...calls],
      committed,
    }
  }
}
