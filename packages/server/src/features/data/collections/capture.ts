import type { Catalog, Relation } from '../../../database/catalog/model.ts'
import type { Capture, ChangeAction, ChangeForm, ChangeLog } from '../../../database/change-log.ts'
import type { Step } from '../../../database/user-database.ts'
import { compileWholeRows } from './compile/whole-rows.ts'
import type { Reader } from './plan/reader.ts'
import { fill, type SlotValues, type StatementCache } from './statements.ts'

/** Finds what surrounds a write that has a listener; undefined without one. */
export type FindCapture = (write: {
  readonly catalog: Catalog
  readonly relation: Relation
  readonly action: ChangeAction
  readonly form: ChangeForm
  readonly reader: Reader
  readonly slots: SlotValues
}) => Capture | undefined

export function createCaptureFinder(changes: ChangeLog, statements: StatementCache): FindCapture {
  const committed = () => changes.committed()
  return ({ catalog, relation, action, form, reader, slots }) => {
    const call = changes.capture(relation, action, form)
    if (call === undefined) return undefined
    if (reader === 'unrestricted') return { before: [], after: [call], committed }
    const whole = statements.remember(
      catalog,
      `whole ${action} ${form} ${reader} ${relation.collection}`,
      () => {
        const compiled = compileWholeRows(relation, action, form, reader)
        if (compiled === undefined) return { before: [], after: [] }
        const { check, before, after } = compiled
        return {
          before: [
            ...(check === undefined ? [] : [{ template: statements.template(check), asLogin: false }]),
            ...(before === undefined ? [] : [{ template: statements.template(before), asLogin: true }]),
          ],
          after: [statements.template(after)],
        }
      },
    )
    return {
      before: whole.before.map(({ template, asLogin }): Step => ({ ...fill(template, slots), asLogin })),
      after: [...whole.after.map((template) => fill(template, slots)), call],
      committed,
    }
  }
}
