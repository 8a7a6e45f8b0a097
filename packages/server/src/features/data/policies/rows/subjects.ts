import { type Examination, toQuery } from '../context.ts'
import { accessErrors } from '../errors.ts'
import type { RowInput } from '../evaluation/evaluate.ts'
import type { Stage } from '../evaluation/stages.ts'
import { type Outcome, runRequest } from '../rehearsal/run-request.ts'
import { defaultRows, type ExplainRequest, mostWrittenRows } from '../schemas.ts'
import { type Candidate, readCandidates } from './candidates.ts'
import { makeRequests, type RowRequest } from './row-requests.ts'

/** Row under examination. */
export interface Subject {
  /** Row as it is; undefined for one to be added. */
  readonly candidate: Candidate | undefined
  /** Row that a write would make without policies; undefined for no row. */
  readonly after: { readonly record: string } | { readonly fault: Outcome } | undefined
}

export interface Subjects {
  readonly rows: readonly Subject[]
  /** Requests, one for each row; for a select, one for all rows. */
  readonly requests: readonly RowRequest[]
  /** True if rows were left out because all together are too large. */
  readonly isCut: boolean
}

/** @throws AppError as of a list and of the requests */
export async function findSubjects(examination: Examination, request: ExplainRequest): Promise<Subjects> {
  const { context, rehearsal, catalog, relation } = examination
  const { action = 'select', ids, filter, limit = defaultRows.explain } = request
  const query = toQuery(filter)
  const found =
    action === 'insert'
      ? { rows: [], isCut: false }
      : await readCandidates(rehearsal, relation, {
          ids,
          plan: context.planRows(catalog, relation, query),
          limit: action === 'select' ? limit : Math.min(limit, mostWrittenRows),
        })
  const requests = makeRequests(relation, request, query, found.rows)
  if (action === 'select') {
    return {
      rows: found.rows.map((candidate) => ({ candidate, after: undefined })),
      requests,
      isCut: found.isCut,
    }
  }
  const rows: Subject[] = []
  for (const [index, each] of requests.entries()) {
    rows.push({ candidate: found.rows[index], after: await makeAfter(examination, each) })
  }
  return { rows, requests, isCut: found.isCut }
}

/** Runs the write as the login role, to which policies do not apply; defaults and triggers take effect. */
async function makeAfter(
  { context, rehearsal }: Examination,
  { send, makesRow }: RowRequest,
): Promise<Subject['after']> {
  if (!makesRow) return undefined
  const administrator = { kind: 'unrestricted' } as const
  const run = await runRequest({ open: context.openCollections, rehearsal }, administrator, send)
  return run.outcome.body === undefined ? { fault: run.outcome } : { record: run.outcome.body }
}

/** Returns the row that a stage tests; undefined if it cannot be made. */
export function rowOf(stage: Stage, { candidate, after }: Subject): RowInput | undefined {
  if (stage.row === 'before') return candidate && { kind: 'stored', texts: [candidate.stored] }
  return after !== undefined && 'record' in after ? { kind: 'records', records: [after.record] } : undefined
}

/** Returns the first row of a request, as a stage tests it. @throws AppError invalid_explanation */
export async function findRow(
  examination: Examination,
  request: ExplainRequest,
  stage: Stage,
): Promise<RowInput> {
  const [subject] = (await findSubjects(examination, { ...request, limit: 1 })).rows
  const row = subject && rowOf(stage, subject)
  if (row !== undefined) return row
  const after = subject?.after
  throw accessErrors.invalidExplanation(
    after !== undefined && 'fault' in after
      ? `values: ${after.fault.message ?? 'the row cannot be made'}`
      : `no row of ${examination.relation.collection} matches`,
  )
}
