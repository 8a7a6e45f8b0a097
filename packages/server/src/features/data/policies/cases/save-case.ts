import type { Relation } from '../../../../database/catalog/model.ts'
import { sql } from '../../../../database/sql.ts'
import { codeOf, OperatorError } from '../../../../lib/errors.ts'
import { compileComparison, parseBodyId } from '../../collections/index.ts'
import type { Examination } from '../context.ts'
import { accessErrors } from '../errors.ts'
import { grantOf } from '../examined-caller.ts'
import { explain } from '../explanation/explain.ts'
import type { ExplainedRow } from '../explanation/explained-row.ts'
import { stopping } from '../gates/gate.ts'
import { defaultRows, type Explanation, mostSavedRows, type SavedCase, type SaveRequest } from '../schemas.ts'
import { type CaseUser, type NewCaseFile, type PolicyCase, renderCaseFile } from './case-file.ts'
import { writeCases } from './case-folder.ts'
import { CaseRowCollector } from './case-rows.ts'

/** @throws AppError case_not_possible, case_file_exists */
export async function saveCase(examination: Examination, request: SaveRequest): Promise<SavedCase> {
  const { rehearsal, catalog, relation, caller } = examination
  const { limit = defaultRows.save, expect = 'present' } = request
  const explanation = await explain(examination, {
    ...request,
    limit: Math.min(limit, mostSavedRows),
    plan: 'none',
  })
  if (explanation.rows.length === 0) {
    throw accessErrors.caseNotPossible('a case needs a row; no row matches')
  }
  const collector = new CaseRowCollector(rehearsal, catalog)
  await collectRows(examination, request, explanation, collector)
  const { statements, users: others, missing } = collector.collected
  const actor = describeActor(examination)
  const referred = [...others].filter((id) => id !== actor.users.caller?.id)
  const users: Record<string, CaseUser> = { ...actor.users }
  for (const [index, id] of referred.entries()) users[`user${index + 1}`] = { id }
  const content = renderCaseFile({
    comment: [
      `Made of an explanation: ${caller.label}, ${explanation.action} on ${relation.collection}.`,
      ...[...missing].map((table) => `Rows of ${table} are needed, too, and have to be added by hand.`),
    ],
    setup: statements,
    users,
    keys: actor.keys,
    cases: explanation.rows.map((row, index) => {
      const refused = isRefused(row, explanation, expect)
      return {
        name: nameOf(explanation, relation, row, index, refused),
        as: actor.name,
        ...actor.aal,
        ...describeAct(relation, request, row, index),
        ...(refused ? { refused } : {}),
      }
    }),
  })
  const name = `${request.name}.toml`
  return { name, content, path: request.save === true ? write(examination, name, content) : null }
}

async function collectRows(
  { relation, caller }: Examination,
  { action = 'select', values }: SaveRequest,
  { rows, reads }: Explanation,
  collector: CaseRowCollector,
): Promise<void> {
  const subjects: ReadonlyMap<string, string | null>[] = []
  for (const { id } of rows) {
    if (id === undefined) continue
    const key = parseBodyId(relation, id)
    const same = relation.primaryKey.map(({ name, type }, index) =>
      compileComparison(type, sql.id('case', name), '=', sql`${key[index] ?? ''}`),
    )
    subjects.push(...(await collector.add(relation, sql.join(same, sql` and `), 1)))
  }
  if (action === 'insert' || action === 'update') {
    for (const record of [values ?? []].flat()) {
      const texts = Object.entries(record).map(([name, value]): [string, string | null] => [
        name,
        value === null || value === undefined
          ? null
          : typeof value === 'string'
            ? value
            : JSON.stringify(value),
      ])
      const subject = new Map(texts)
      await collector.addReferences(relation, subject)
      subjects.push(subject)
    }
  }
  for (const read of reads) await collector.addRead(read, caller, relation, subjects)
}

interface Actor {
  readonly name: string
  readonly aal: { readonly aal?: 'aal2' }
  readonly users: NewCaseFile['users']
  readonly keys: NonNullable<NewCaseFile['keys']>
}

/** @throws AppError case_not_possible */
function describeActor({ caller }: Examination): Actor {
  const { scope } = caller
  if (scope.kind === 'anonymous') return { name: 'anonymous', aal: {}, users: {}, keys: {} }
  if (scope.userId === '') {
    throw accessErrors.caseNotPossible('a client that acts for itself has no user to make a case with')
  }
  const { userId: id, email, isEmailVerified, isAnonymous, aal } = scope
  const user = {
    id,
    ...(email === '' ? {} : { email }),
    ...(isEmailVerified ? { email_verified: true } : {}),
    ...(isAnonymous ? { is_anonymous: true } : {}),
  }
  const grant = grantOf(caller)
  if (grant === undefined) {
    return { name: 'caller', aal: aal === 'aal2' ? { aal } : {}, users: { caller: user }, keys: {} }
  }
  return {
    name: 'program',
    aal: {},
    users: { caller: user },
    keys: { program: { user: 'caller', ...grant } },
  }
}

function isRefused(
  { allowed, actual }: ExplainedRow,
  { gates }: Explanation,
  expect: NonNullable<SaveRequest['expect']>,
): boolean {
  if (expect !== 'present') return expect === 'refused'
  return stopping(gates) !== undefined || !(actual ?? allowed === true)
}

function nameOf(
  { action, caller }: Explanation,
  { collection }: Relation,
  { id }: ExplainedRow,
  index: number,
  refused: boolean,
): string {
  const verb = { select: 'read', insert: 'add', update: 'change', delete: 'delete' }[action]
  const row = id === undefined ? `row ${index + 1}` : `row ${id}`
  return `${caller.label} may ${refused ? 'not ' : ''}${verb} ${row} of ${collection}`
}

/** @throws AppError case_not_possible */
function describeAct(
  { collection }: Relation,
  { action = 'select', values }: SaveRequest,
  { id }: ExplainedRow,
  index: number,
): Partial<PolicyCase> {
  // Objects of JSON, for which the schema of the request allows any members.
  const records = [values ?? {}].flat() as Record<string, unknown>[]
  if (action === 'insert') return { create: collection, values: records[index] ?? {} }
  if (id === undefined)
    throw accessErrors.caseNotPossible('a case names its row by the primary key; the table has none')
  if (action === 'update') return { update: collection, id, values: records[0] ?? {} }
  return action === 'select' ? { get: collection, id } : { delete: collection, id }
}

function write({ context }: Examination, name: string, content: string): string {
  try {
    return writeCases(context.project, name, content)
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error
    if (codeOf(error.cause) === 'EEXIST') throw accessErrors.caseFileExists(name)
    throw accessErrors.caseNotPossible(error.message)
  }
}
