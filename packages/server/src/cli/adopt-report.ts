import type { Adoption } from '../project/adopt/adopt.ts'
import { isEmpty, type Statements, writeMigration, writeStatements } from '../project/adopt/compile.ts'
import { describeMatch } from '../project/adopt/people.ts'
import { describeAccess, describeWay, type Proposal } from '../project/adopt/proposal.ts'
import { mostRows, type Trial } from '../project/adopt/trial.ts'
import { formatTable } from './table.ts'

/** Formats the proposal for people: the migration, then the tables, then the remarks. */
export function describeProposal(proposal: Proposal, statements: Statements): string {
  const { people, tables, notes } = proposal
  const { table, key, match } = people
  const own = `${people.function.schema}.${people.function.name}()`
  const found = match === undefined ? '' : `: ${describeMatch(people, match)}`
  const rows = tables.map((each) => [each.table.collection, describeAccess(each), describeWay(each)])
  const kept = tables
    .filter(({ access }) => access === 'kept')
    .flatMap((each) =>
      each.table.policies.map(({ name, command, roles, using, check }) => {
        const conditions = [
          ...(using === undefined ? [] : [`using ${using}`]),
          ...(check === undefined ? [] : [`with check ${check}`]),
        ]
        return `  ${each.table.collection}: "${name}" for ${command.toLowerCase()} to ${roles.join(', ')} ${conditions.join(' ').replace(/\s+/g, ' ')}`
      }),
    )
  return [
    ...(isEmpty(statements) ? [] : [writeStatements(people, statements)]),
    `People: ${table.collection} (${key.map(({ name }) => name).join(', ')})`,
    `A caller is ${own}${people.function.exists ? ', which exists already' : ''}${found}`,
    '',
    formatTable(['table', 'callers', 'by'], rows).trimEnd(),
    ...(kept.length === 0 ? [] : ['', 'Policies that exist and are kept:', ...kept]),
    ...(notes.length === 0 ? [] : ['', ...notes.map((note) => `- ${note}`)]),
    '',
  ].join('\n')
}

/** Formats the trial for people. */
export function describeTrial({ people }: Proposal, { callers, tables }: Trial): string {
  const count = (rows: number | null) =>
    rows === null ? '-' : rows === mostRows ? `${mostRows}+` : String(rows)
  const rows = tables.map(({ collection, all, callers: counts, withoutToken }) => [
    collection,
    count(all),
    ...counts.map(count),
    count(withoutToken),
  ])
  const intro =
    callers.length === 0
      ? people.match === undefined
        ? 'Tried and undone, without people: --match says how the trial finds two. Rows that are seen (- is no grant):'
        : 'Tried and undone, without people: no one in the table can be found. Rows that are seen (- is no grant):'
      : 'Tried and undone. Rows that are seen (- is no grant):'
  return `\n${intro}\n\n${formatTable(['table', 'all', ...callers, 'no token'], rows)}`
}

/** Formats the applied adoption for people, with the next step. */
export function describeAdoption({ people }: Proposal, { migration, baseline }: Adoption): string {
  return [
    '',
    ...(baseline === null ? [] : [`wrote ${baseline}, which counts as applied`]),
    `applied ${migration}`,
    '',
    `Next: npx basalt start. A caller of ${people.table.collection} signs in, and reads their rows.`,
    'basalt adopt --undo undoes it.',
    '',
  ].join('\n')
}

/** Returns the report of `--json`. */
export function toJson(
  proposal: Proposal,
  statements: Statements,
  trial: Trial | undefined,
  applied: Adoption | undefined,
) {
  const { people, tables, partitions, notes } = proposal
  return {
    people: people.table.collection,
    function: `${people.function.schema}.${people.function.name}`,
    tables: tables.map((each) => ({
      table: each.table.collection,
      access: each.access,
      mayWrite: each.mayWrite,
      by: describeWay(each) || null,
      policies: each.table.policies.map(({ name }) => name),
    })),
    partitions: partitions.map(({ table }) => table.collection),
    notes,
    sql: writeMigration(people, statements),
    trial: trial ?? null,
    applied: applied ?? null,
  }
}
