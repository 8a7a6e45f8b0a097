import { type Look, toQuery } from '../context.ts'
import { accessErrors } from '../errors.ts'
import type { RowInput } from '../evaluation/evaluate.ts'
import type { Stage } from '../evaluation/stages.ts'
import { type Outcome, runRequest } from '../rehearsal/run-request.ts'
import { defaultRows, type ExplainRequest, mostWrittenRows } from '../schemas.ts'
import { type Candidate, readCandidates } from './candidates.ts'
import { makeRequests, type RowRequest } from './row-requests.ts'

/** A row that is asked about. */
export interface Subject {
  /** The row as it is; undefined of one to be added. */
  readonly candidate: Candidate | undefined
  /** What a write would make of it, were it not for the policies; undefined where it makes nothing. */
  readonly after: { readonly record: string } | { readonly fault: Outcome } | undefined
}

export interface Subjects {
  readonly rows: readonly Subject[]
  /** One for each row; of a select one for all. */
  readonly requests: readonly RowRequest[]
  /** Whether rows were left out because together they are too large. */
  readonly isCut: boolean
}

/** @throws AppError as of a list and of the requests */
export async function findSubjects(look: Look, request: ExplainRequest): Promise<Subjects> {
  const { context, rehearsal, catalog, relation } = look
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
    rows.push({ candidate: found.rows[index], after: await makeAfter(look, each) })
  }
  return { rows, requests, isCut: found.isCut }
}

/** The write as the login role, which policies do not apply to: defaults and triggers do their work. */
async function makeAfter(
  { context, rehearsal }: Look,
  { send, makesRow }: RowRequest,
): Promise<Subject['after']> {
  if (!makesRow) return undefined
  const administrator = { kind: 'unrestricted' } as const
  const run = await runRequest({ open: context.openCollections, rehearsal }, administrator, send)
  return run.outcome.body === undefined ? { fault: run.outcome } : { record: run.outcome.body }
}

/** The row that a stage asks about; undefined where it cannot be made. */
export function rowOf(stage: Stage, { candidate, after }: Subject): RowInput | undefined {
  if (stage.row === 'before') return candidate && { kind: 'stored', texts: [candidate.stored] }
  return after !== undefined && 'record' in after ? { kind: 'records', records: [after.record] } : undefined
}

/** The first row of a request, as a stage asks about it. @throws AppError invalid_explanation */
export async function findRow(look: Look, request: ExplainRequest, stage: Stage): Promise<RowInput> {
  const [subject] = (await findSubjects(look, { ...request, limit: 1 })).rows
  const row = subject && rowOf(stage, subject)
  if (row !== undefined) return row
  const after = subject?.after
  throw accessErrors.invalidExplanation(
    after !== undefined && 'fault' in after
      ? `values: ${after.fault.message ?? 'the row cannot be made'}`
      : `no row of ${look.relation.collection} matches`,
  )
}
