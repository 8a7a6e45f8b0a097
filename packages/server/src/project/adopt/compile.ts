import { anonymousRole, callerRole } from '../../database/caller/caller-scope.ts'
import type { Column } from '../../database/catalog/model.ts'
import { quoteIdentifier, quoteName } from '../../database/sql.ts'
import { isTable, quoted } from './names.ts'
import { writeCondition } from './ownership.ts'
import { type Match, type People, writeFunction, writeMatch } from './people.ts'
import type { Proposal, ProposedTable } from './proposal.ts'

/** Statements of an adoption, without semicolons, and those that undo them, in their own order. */
export interface Statements {
  readonly function: readonly string[]
  readonly security: readonly string[]
  readonly policies: readonly string[]
  readonly grants: readonly string[]
  readonly undo: readonly string[]
}

/** Compiles the proposal: the function, then row-level security, then the policies, then the grants. Pure. */
export function compile({ people, tables, partitions }: Proposal): Statements {
  const changed = tables.filter(({ isDone }) => !isDone)
  const guarded = changed.filter(({ table }) => isTable(table))
  const secured = guarded.filter(({ table }) => !table.rlsEnabled)
  const policies = guarded.map((each) => [each, writePolicies(people, each)] as const)
  const closed = partitions.filter(({ isDone }) => !isDone)
  const callerFunction = `${quoted(people.function)}()`
  return {
    function: hasMatch(people)
      ? [
          writeFunction(people),
          `revoke all on function ${callerFunction} from public`,
          `grant execute on function ${callerFunction} to ${callerRole}`,
        ]
      : [],
    security: secured.map(({ table }) => `alter table ${quoted(table)} enable row level security`),
    policies: policies.flatMap(([{ table }, some]) =>
      some.map(([name, rest]) => `create policy ${quoteIdentifier(name)} on ${quoted(table)} ${rest}`),
    ),
    grants: unique([...changed, ...closed].flatMap((each) => writeGrants(people, each))),
    undo: [
      ...unique([...changed, ...closed].flatMap(restoreGrants)),
      ...policies.flatMap(([{ table }, some]) =>
        some.map(([name]) => `drop policy if exists ${quoteIdentifier(name)} on ${quoted(table)}`),
      ),
      ...secured.map(({ table }) => `alter table ${quoted(table)} disable row level security`),
      ...(hasMatch(people) ? [`drop function ${callerFunction}`] : []),
    ],
  }
}

/** Removes duplicates. Several tables need the same grant on their schema. */
function unique(statements: readonly string[]): string[] {
  return [...new Set(statements)]
}

/** Returns true if the function is new. */
function hasMatch(people: People): people is People & { readonly match: Match } {
  return !people.function.exists && people.match !== undefined
}

type NamedPolicy = readonly [name: string, rest: string]

function writePolicies(
  people: People,
  { table, facts, access, ownership, mayWrite }: ProposedTable,
): NamedPolicy[] {
  const policies: NamedPolicy[] = []
  const add = (name: string, rest: string) => policies.push([`adopt_${name}`, rest])
  if (access === 'own' && ownership !== undefined) {
    const read = writeCondition(people, ownership, 'set')
    add('read', `for select to ${callerRole} using (${read})`)
    if (mayWrite) {
      const row = writeCondition(people, ownership, 'row')
      const isPeople = ownership.keys.length === 0
      if (!isPeople) add('insert', `for insert to ${callerRole} with check (${row})`)
      add('update', `for update to ${callerRole} using (${row}) with check (${row})`)
      if (!isPeople) add('delete', `for delete to ${callerRole} using (${row})`)
    }
  }
  if (access === 'signed-in') add('signed_in', `for select to ${callerRole} using (true)`)
  if (access === 'public') add('public', `for select to ${callerRole}, ${anonymousRole} using (true)`)
  if (!table.rlsEnabled && facts.otherRoles.length > 0) {
    const roles = facts.otherRoles.map(quoteIdentifier).join(', ')
    add('other_roles', `to ${roles} using (true) with check (true)`)
  }
  return policies
}

/** Writes the grants of a relation. Callers first lose those that a start gives to them. */
function writeGrants(people: People, { table, facts, access, mayWrite, ownership }: ProposedTable): string[] {
  const name = quoted(table)
  const grants = [`revoke all on table ${name} from ${callerRole}, ${anonymousRole}`]
  if (access === 'closed') return grants
  grants.push(
    `grant select on table ${name} to ${callerRole}${access === 'public' ? `, ${anonymousRole}` : ''}`,
  )
  if (needsUsage({ access, facts })) grants.push(`grant usage ${onSchema(table)} to ${anonymousRole}`)
  if (!mayWrite) return grants
  if (ownership?.keys.length === 0) {
    const columns = table.columns.filter((column) => isForPeople(people, column))
    if (columns.length > 0) {
      const list = columns.map((column) => quoteIdentifier(column.name)).join(', ')
      grants.push(`grant update (${list}) on table ${name} to ${callerRole}`)
    }
    return grants
  }
  grants.push(`grant insert, update, delete on table ${name} to ${callerRole}`)
  for (const sequence of facts.sequences)
    grants.push(`grant usage, select on sequence ${sequence} to ${callerRole}`)
  return grants
}

/** Returns true for a column that people may change: not the one they are found by, nor their key. */
function isForPeople({ key, match }: People, { name, isGenerated, identity }: Column): boolean {
  return (
    name !== match?.column.name &&
    !isGenerated &&
    identity !== 'always' &&
    !key.some((column) => column.name === name)
  )
}

/** Returns true if requests without a token need a grant on the schema. */
function needsUsage({ access, facts }: Pick<ProposedTable, 'access' | 'facts'>): boolean {
  return access === 'public' && !facts.isSchemaPublic
}

function onSchema({ schema }: { readonly schema: string }): string {
  return `on schema ${quoteIdentifier(schema)}`
}

/** Writes the statements that restore the grants to callers. */
function restoreGrants(each: ProposedTable): string[] {
  const { table, facts, mayWrite, ownership } = each
  const hasSequences = mayWrite && ownership?.keys.length !== 0
  return [
    `revoke all on table ${quoted(table)} from ${callerRole}, ${anonymousRole}`,
    ...facts.grants,
    ...(hasSequences ? facts.sequences : []).map(
      (name) => `revoke all on sequence ${name} from ${callerRole}`,
    ),
    ...(needsUsage(each) ? [`revoke usage ${onSchema(table)} from ${anonymousRole}`] : []),
  ]
}

/** Prefix of the line that says who people are, for later runs. */
const peoplePrefix = '-- people> '

/** Prefix of the lines that undo a migration. */
const undoPrefix = '-- undo> '

/** Writes the migration. Its last lines, comments, undo it. Pure. */
export function writeMigration(people: People, statements: Statements): string {
  return [
    writeStatements(people, statements),
    peoplePrefix + JSON.stringify(recordOf(people)),
    '-- `basalt adopt --undo` runs these statements as a migration.',
    ...statements.undo.map((statement) => undoPrefix + statement),
    '',
  ].join('\n')
}

/** Writes the statements of the migration. Pure. */
export function writeStatements({ table }: People, statements: Statements): string {
  const section = (title: string, some: readonly string[]) =>
    some.length === 0 ? [] : ['', `-- ${title}`, ...some.map((statement) => `${statement};`)]
  return [
    `-- Callers see the rows that belong to them in ${quoteName(table.schema)}.${quoteName(table.name)}.`,
    ...section('The person that a caller is.', statements.function),
    ...section('Row-level security.', statements.security),
    ...section('Policies.', statements.policies),
    ...section('Grants.', statements.grants),
    '',
  ].join('\n')
}

/** Record of who people are, as the flags of the command have it. */
export interface PeopleRecord {
  readonly people: string
  readonly match?: string | undefined
  readonly function: string
}

function recordOf({ table, match, function: own }: People): PeopleRecord {
  return {
    people: table.collection,
    match: match === undefined ? undefined : writeMatch(match),
    function: `${own.schema}.${own.name}`,
  }
}

/** Finds the record of the newest adoption. Pure. @param contents of the migrations in order */
export function findPeopleRecord(contents: readonly string[]): PeopleRecord | undefined {
  const line = contents
    .flatMap((content) => content.split('\n'))
    .findLast((text) => text.startsWith(peoplePrefix))
  // The migrations are the operator's, and only the prefix is certain.
  return line === undefined ? undefined : (JSON.parse(line.slice(peoplePrefix.length)) as PeopleRecord)
}

/** Reads the statements that undo a migration; empty for a migration of another kind. Pure. */
export function readUndo(content: string): string[] {
  return content
    .split('\n')
    .filter((line) => line.startsWith(undoPrefix))
    .map((line) => line.slice(undoPrefix.length))
}

/** Returns true if nothing is to be done. */
export function isEmpty({ function: own, security, policies, grants }: Statements): boolean {
  return [own, security, policies, grants].every((some) => some.length === 0)
}
