import { anonymousRole, callerRole } from '../../database/caller/caller-scope.ts'
import { explainRelationChange } from '../migrations/check.ts'
import { type AccessChange, describeAccessChange } from '../schema/access.ts'
import type { SchemaChange } from '../schema/objects.ts'
import type { StructureRehearsal } from './rehearse.ts'
import type { Warning } from './schemas.ts'

/**
 * Lists what a person should know, the gravest first. Pure.
 *
 * @param isClosed whether `database.require_rls` closes unguarded relations to callers
 */
export function listWarnings(
  { observed, reason, trace, renamed = [], large }: StructureRehearsal,
  isClosed: boolean,
): Warning[] {
  return [
    ...(observed?.access ?? [])
      .filter(isOpening)
      .flatMap((change) => describeOpening(change, observed?.changes ?? [], isClosed)),
    ...listRemovals(observed?.changes ?? []),
    ...renamed.map((change): Warning => {
      const { warning, remedy } = explainRelationChange(change)
      return { kind: 'renames', message: remedy === undefined ? warning : `${warning}; ${remedy}` }
    }),
    ...large.map(({ relation, bytes, weight }): Warning => {
      const size = describeBytes(bytes)
      return weight === 'writes'
        ? {
            kind: 'rewrites',
            message: `may write all ${size} of ${relation} anew, while reads and writes wait`,
          }
        : { kind: 'reads', message: `may read all ${size} of ${relation}, while writes wait` }
    }),
    ...(observed?.rewritten ?? []).map(
      ({ relation, bytes }): Warning => ({
        kind: 'rewrites',
        message: `writes ${relation} anew (${describeBytes(bytes)})`,
      }),
    ),
    ...(observed?.locks ?? [])
      .filter(({ blocks }) => blocks !== 'changes of the schema')
      .map(
        ({ relation, blocks, line, heldMs }): Warning => ({
          kind: 'blocks',
          message: `line ${line} blocks ${blocks} of ${relation} (${heldMs} ms in the rehearsal)`,
        }),
      ),
    ...(observed?.access ?? [])
      .filter((change) => isOfCallers(change) && !isOpening(change))
      .map((change): Warning => ({ kind: 'access', message: describeAccessChange(change) })),
    ...(reason === undefined
      ? []
      : [{ kind: 'not rehearsed' as const, message: `${reasons[reason]}${trace ?? ''}` }]),
  ]
}

const reasons: Readonly<Record<NonNullable<StructureRehearsal['reason']>, string>> = {
  'no transaction': 'not tried beforehand: it runs outside of a transaction, where nothing can be undone',
  traces: 'not tried beforehand, as it could leave traces when it is undone: ',
  large:
    'not tried beforehand: its locks would be held for as long as the rows are worked on; try it on a copy by basalt migrate check',
  'in use': 'not tried beforehand: a relation of it is in use, and its lock was not obtained within 100 ms',
  slow: 'not tried to its end: it takes longer than a second, and holds its locks for as long',
}

function isOfCallers({ role }: AccessChange): boolean {
  return role === callerRole || role === anonymousRole
}

/** Returns true if callers get every row of a table, and did not before. */
function isOpening(change: AccessChange): boolean {
  return (
    isOfCallers(change) &&
    change.object.startsWith('table ') &&
    change.rowsAfter === 'every row' &&
    (change.gained.length > 0 || change.rowsBefore !== 'every row')
  )
}

function describeOpening(
  { role, object }: AccessChange,
  changes: readonly SchemaChange[],
  isClosed: boolean,
): Warning[] {
  const callers = role === callerRole ? 'every signed-in caller' : 'requests without a token'
  const relation = object.slice('table '.length)
  const made = changes.find(({ kind, name }) => name === relation && kind.endsWith('view'))
  // The policies of the tables that it reads decide about the rows of such a view.
  if (made?.after?.includes('security_invoker=true')) return []
  const remedy =
    made === undefined
      ? 'enable row-level security on it'
      : made.kind === 'view'
        ? 'make it with (security_invoker = true), so that the policies of its tables hold'
        : `revoke all on it from ${role}`
  if (isClosed) {
    return [
      {
        kind: 'access',
        message: `${relation} is closed to callers until policies guard its rows: ${remedy}`,
      },
    ]
  }
  return [{ kind: 'open', message: `${relation} is open to ${callers}: ${remedy}` }]
}

const relationKinds: readonly string[] = ['table', 'view', 'materialized view']

/**
 * Lists removed objects. It omits parts of removed relations, and grants and comments, which are removed with
 * their object.
 */
function listRemovals(changes: readonly SchemaChange[]): Warning[] {
  const removed = changes.filter(
    ({ change, kind }) => change === 'removed' && kind !== 'grant' && kind !== 'comment',
  )
  const relations = removed.filter(({ kind }) => relationKinds.includes(kind)).map(({ name }) => name)
  const isPart = ({ name, before = '' }: SchemaChange) =>
    relations.some(
      (relation) =>
        name.startsWith(`${relation}.`) ||
        name.startsWith(`${relation} `) ||
        before.includes(` ON ${relation} `),
    )
  return removed
    .filter((change) => !isPart(change))
    .map(({ kind, name }) => ({ kind: 'removes', message: `removes ${kind} ${name}` }))
}

function describeBytes(bytes: number): string {
  const units = ['bytes', 'kB', 'MB', 'GB', 'TB']
  const power = Math.min(units.length - 1, Math.floor(Math.log(Math.max(bytes, 1)) / Math.log(1024)))
  return `${power === 0 ? bytes : (bytes / 1024 ** power).toFixed(1)} ${units[power]}`
}
