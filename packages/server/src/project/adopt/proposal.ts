import { anonymousRole, callerRole } from '../../database/caller/caller-scope.ts'
import type { Catalog, Relation } from '../../database/catalog/model.ts'
import { startsIndex } from '../../database/catalog/policy-expressions.ts'
import { quoteIdentifier } from '../../database/sql.ts'
import { OperatorError } from '../../lib/errors.ts'
import type { Facts } from './facts.ts'
import { findTable, isTable, quoted } from './names.ts'
import { describeOwnership, findOwnerships, type Ownership } from './ownership.ts'
import type { People } from './people.ts'

/**
 * Access of callers to a relation:
 * - `own`: each caller's own rows, by foreign keys that lead to people
 * - `signed-in`, `public`: all rows, by an explicit choice
 * - `view`: the rows that the policies of the tables of a view allow
 * - `closed`: none
 * - `kept`: as the policies say that exist already
 * - `left`: not changed
 */
export type Access = 'own' | 'signed-in' | 'public' | 'view' | 'closed' | 'kept' | 'left'

export interface ProposedTable {
  readonly table: Relation
  readonly facts: Facts
  readonly access: Access
  /** Undefined where no foreign key leads to people. */
  readonly ownership: Ownership | undefined
  /** True if callers may write their own rows. */
  readonly mayWrite: boolean
  /** True if the database is as proposed already. */
  readonly isDone: boolean
}

/** Explicit choices of tables, by their names in the API. */
export interface Choices {
  readonly write: readonly string[]
  readonly signedIn: readonly string[]
  readonly public: readonly string[]
  readonly leave: readonly string[]
}

export const noChoices: Choices = { write: [], signedIn: [], public: [], leave: [] }

export interface Proposal {
  readonly people: People
  /** Tables in the order of their names. */
  readonly tables: readonly ProposedTable[]
  /** Partitions, which are no collections. */
  readonly partitions: readonly ProposedTable[]
  /** Remarks, one sentence each. */
  readonly notes: readonly string[]
}

/** Context of a proposal: the catalog, and the facts by object id. */
export interface Surroundings {
  readonly catalog: Catalog
  readonly facts: ReadonlyMap<string, Facts>
  /** Login of the database, quoted where SQL needs it. */
  readonly login: string
}

/**
 * Proposes the access of callers to each table. Pure.
 *
 * @throws OperatorError for an impossible choice, and for a table of another owner
 */
export function propose({ catalog, facts, login }: Surroundings, people: People, choices: Choices): Proposal {
  const factsOf = ({ oid, collection }: Relation): Facts => {
    const found = facts.get(oid)
    if (found === undefined)
      throw new OperatorError(`${collection} was created meanwhile: run basalt adopt again`)
    return found
  }
  const named = (names: readonly string[], flag: string) =>
    new Set(names.map((name) => findTable(catalog, name, flag)))
  const write = named(choices.write, '--write')
  const signedIn = named(choices.signedIn, '--signed-in')
  const open = named(choices.public, '--public')
  const leave = named(choices.leave, '--leave')
  refuseTwice({ '--signed-in': signedIn, '--public': open, '--leave': leave })
  const ownerships = findOwnerships(catalog, people.table, (table) => !leave.has(table))
  const accessOf = (table: Relation): Access => {
    if (leave.has(table) || table.isOfExtension) return 'left'
    if (hasPolicies(table)) return 'kept'
    if (signedIn.has(table)) return 'signed-in'
    if (open.has(table)) return 'public'
    if (ownerships.has(table)) return 'own'
    if (!factsOf(table).isOurs) return 'left'
    return isGuardedView(table) ? 'view' : 'closed'
  }
  const describe = (table: Relation, access: Access): ProposedTable => ({
    table,
    facts: factsOf(table),
    access,
    ownership: ownerships.get(table),
    mayWrite: write.has(table),
    isDone:
      access === 'kept' || access === 'left' || (access === 'closed' && isClosed(table, factsOf(table))),
  })
  const tables = [...catalog.relations.values()]
    .toSorted((one, other) => (one.collection < other.collection ? -1 : 1))
    .map((table) => describe(table, accessOf(table)))
  for (const each of tables) {
    const { table, access } = each
    const flag = signedIn.has(table)
      ? '--signed-in'
      : open.has(table)
        ? '--public'
        : write.has(table)
          ? '--write'
          : ''
    if (flag !== '') refuseChoice(each, flag)
    requireOwner(each, people, login)
    if (access !== 'left') requirePrintable(table)
  }
  requireFunctionSees(factsOf(people.table), people)
  const partitions = [...catalog.partitions.values()].map((table) =>
    describe(table, factsOf(table).isOurs ? 'closed' : 'left'),
  )
  return { people, tables, partitions, notes: listNotes(catalog, people, tables) }
}

/** Returns true if callers have no way to the rows. A partition is guarded by its table. */
function isClosed({ kind, rlsEnabled, partitionOf }: Relation, { grants, isOpened }: Facts): boolean {
  const needsRls = isTable({ kind }) && partitionOf === undefined
  return isOpened && grants.length === 0 && (rlsEnabled || !needsRls)
}

/** Returns true if a policy applies to callers, who have the role of callers and PUBLIC. */
function hasPolicies({ policies }: Relation): boolean {
  return policies.some(({ roles }) =>
    roles.some((role) => ['public', callerRole, anonymousRole].includes(role)),
  )
}

/** Returns true for a view that reads tables with the rights of its caller. */
function isGuardedView({ kind, rlsGap }: Relation): boolean {
  return kind === 'view' && (rlsGap === undefined || isTable(rlsGap))
}

function refuseTwice(choices: Readonly<Record<string, ReadonlySet<Relation>>>): void {
  const seen = new Map<Relation, string>()
  for (const [flag, tables] of Object.entries(choices)) {
    for (const table of tables) {
      const other = seen.get(table)
      if (other !== undefined) {
        throw new OperatorError(`${table.collection}: ${other} and ${flag} exclude each other`, {
          exitCode: 2,
        })
      }
      seen.set(table, flag)
    }
  }
}

function refuseChoice({ table, access, ownership, mayWrite }: ProposedTable, flag: string): void {
  const refuse = (reason: string) => {
    throw new OperatorError(`${flag}: ${table.collection} ${reason}`, { exitCode: 2 })
  }
  if (table.isOfExtension) refuse('belongs to an extension')
  if (access === 'kept') refuse('has policies already, which are kept: change them instead')
  if (access === 'left') refuse('is left as it is')
  if (!isTable(table)) {
    refuse(
      table.kind === 'view'
        ? 'is a view: give it security_invoker, and the policies of its tables apply'
        : `is a ${table.kind.replaceAll('_', ' ')}, which policies cannot guard`,
    )
  }
  if (mayWrite && (access !== 'own' || ownership === undefined)) {
    refuse('has no foreign key that leads to people, so no row of it is a caller’s own')
  }
}

/** Rejects tables that only their owner may change. @throws OperatorError that names the owner and the grant */
function requireOwner(
  { table, facts, access }: ProposedTable,
  { table: people }: People,
  login: string,
): void {
  if (facts.isOurs || access === 'left' || access === 'kept') return
  const owner = /^[a-z_][a-z0-9_]*$/.test(facts.owner) ? facts.owner : quoteIdentifier(facts.owner)
  const role = table === people ? ', the table of people,' : ''
  throw new OperatorError(
    `${table.collection}${role} belongs to ${facts.owner}, and only its owner may give it policies: ` +
      `have a superuser run grant ${owner} to ${login}; or leave it out by --leave ${table.collection}`,
  )
}

/** Rejects names that would end a comment in the migration. */
function requirePrintable({ collection, name, columns, foreignKeys }: Relation): void {
  const names = [name, ...columns.map((column) => column.name), ...foreignKeys.map((key) => key.name)]
  if (names.every((each) => !/\p{Cc}/u.test(each))) return
  throw new OperatorError(
    `${JSON.stringify(collection)} has a name with a control character: rename it, or leave it out by --leave`,
  )
}

function requireFunctionSees({ isForced }: Facts, { table }: People): void {
  if (!isForced || !table.rlsEnabled) return
  throw new OperatorError(
    `${table.collection} has forced row-level security, so a function of its owner finds no one there: ` +
      `alter table ${quoted(table)} no force row level security`,
  )
}

function listNotes(catalog: Catalog, people: People, tables: readonly ProposedTable[]): string[] {
  const changed = tables.filter(({ isDone }) => !isDone)
  const names = (some: readonly ProposedTable[]) => some.map(({ table }) => table.collection).join(', ')
  const others = changed.filter(
    ({ table, facts }) => isTable(table) && !table.rlsEnabled && facts.otherRoles.length > 0,
  )
  const roles = [...new Set(others.flatMap(({ facts }) => facts.otherRoles))]
  const foreign = tables.filter(
    ({ access, facts, table }) => access === 'left' && !facts.isOurs && !table.isOfExtension,
  )
  const views = changed.filter(({ table, access }) => table.kind === 'view' && access === 'closed')
  const keyless = changed.filter(
    ({ table, access }) => isTable(table) && access !== 'closed' && table.rowKey.length === 0,
  )
  const callable = catalog.functions.filter(({ publicMayExecute }) => publicMayExecute)
  const slow = changed.flatMap(({ table, access, ownership }) =>
    access !== 'own' || ownership === undefined
      ? []
      : ownership.keys
          .filter(({ columns }) => !columns.some((column) => startsIndex(table, [column])))
          .map(
            ({ columns }) => `create index on ${quoted(table)} (${columns.map(quoteIdentifier).join(', ')})`,
          ),
  )
  return [
    ...(roles.length === 0
      ? []
      : [`${roles.join(', ')}: their access to ${names(others)} stays as it is, by a policy of their own.`]),
    ...foreign.map(
      ({ table, facts }) => `${table.collection} belongs to ${facts.owner}, and is left as it is.`,
    ),
    ...(views.length === 0
      ? []
      : [
          `${names(views)}: a view reads with the rights of its owner. With security_invoker the policies of its tables apply.`,
        ]),
    ...keyless.map(
      ({ table }) => `${table.collection} has no primary key, so its rows are listed and not addressed.`,
    ),
    ...(callable.length === 0
      ? []
      : [
          `PUBLIC may execute ${callable.map(({ procedure }) => procedure).join(', ')}, so callers may call it: see basalt advisors.`,
        ]),
    ...(people.match === undefined || isMatchIndexed(people)
      ? []
      : [`No index finds people by ${people.match.column.name}: ${writeMatchIndex(people)}`]),
    ...[...new Set(slow)].map((statement) => `No index finds the rows of a caller: ${statement}`),
  ]
}

function isMatchIndexed({ table, match }: People): boolean {
  if (match === undefined) return true
  const { by, column } = match
  if (by !== 'email') return startsIndex(table, [column.name])
  const lowered = new RegExp(`\\blower\\(\\(?"?${column.name.replace(/[^\w]/g, '\\$&')}"?\\)?(?:::text)?\\)`)
  return table.indexes.some(({ definition, isPartial }) => !isPartial && lowered.test(definition))
}

function writeMatchIndex({ table, match }: People): string {
  const column = quoteIdentifier(match?.column.name ?? '')
  return `create index on ${quoted(table)} (${match?.by === 'email' ? `lower(${column}::text)` : column})`
}

/** Describes the access of a table for people. */
export function describeAccess({ access, mayWrite, facts, table }: ProposedTable): string {
  const policies = table.policies.length === 1 ? '1 policy' : `${table.policies.length} policies`
  return {
    own: mayWrite ? 'read and write own rows' : 'read own rows',
    'signed-in': 'read all rows, signed in',
    public: 'read all rows, even without a token',
    view: 'read what its tables allow',
    closed: 'closed',
    kept: `kept: ${policies}`,
    left: facts.isOurs ? 'left as it is' : `left: belongs to ${facts.owner}`,
  }[access]
}

/** Describes the way by which a row belongs to a caller. */
export function describeWay({ access, ownership }: ProposedTable): string {
  return access === 'own' && ownership !== undefined ? describeOwnership(ownership) : ''
}
