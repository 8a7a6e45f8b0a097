import { literal, name, qualified } from '../changes/text.ts'
import type { RelationDetail } from '../schemas.ts'

/**
 * Builds SQL that describes the relation as it is, for reading. It combines PostgreSQL's texts of its parts.
 * Pure.
 */
export function defineRelation(relation: RelationDetail): string {
  const own = qualified(relation)
  if (relation.query !== null) {
    const options = relation.options.length === 0 ? '' : ` with (${relation.options.join(', ')})`
    return `create ${relation.kind} ${own}${options} as\n${relation.query.trim()}\n`
  }
  const lines = [
    ...relation.columns.map((column) =>
      [
        name(column.name),
        column.type,
        ...(column.generated === null ? [] : [`generated always as (${column.generated}) stored`]),
        ...(column.identity === null ? [] : [`generated ${column.identity} as identity`]),
        ...(column.isNullable ? [] : ['not null']),
        ...(column.default === null ? [] : [`default ${column.default}`]),
      ].join(' '),
    ),
    ...relation.constraints
      .filter(({ isValidated }) => isValidated)
      .map((constraint) => `constraint ${name(constraint.name)} ${constraint.definition}`),
  ]
  const partition = relation.partitionKey === null ? '' : ` partition by ${relation.partitionKey}`
  const statements = [
    `create ${relation.kind === 'foreign table' ? 'foreign table' : 'table'} ${own} (\n  ${lines.join(',\n  ')}\n)${partition}`,
    ...relation.constraints
      .filter(({ isValidated }) => !isValidated)
      .map(
        (constraint) => `alter table ${own} add constraint ${name(constraint.name)} ${constraint.definition}`,
      ),
    ...relation.indexes.filter(({ constraint }) => constraint === null).map(({ definition }) => definition),
    ...(relation.comment === null ? [] : [`comment on table ${own} is ${literal(relation.comment)}`]),
    ...relation.columns.flatMap((column) =>
      column.comment === null
        ? []
        : [`comment on column ${own}.${name(column.name)} is ${literal(column.comment)}`],
    ),
    ...(relation.isRlsEnabled ? [`alter table ${own} enable row level security`] : []),
    ...(relation.isRlsForced ? [`alter table ${own} force row level security`] : []),
    ...relation.policies.map((policy) =>
      [
        `create policy ${name(policy.name)} on ${own}`,
        ...(policy.isPermissive ? [] : ['as restrictive']),
        `for ${policy.command}`,
        `to ${policy.roles.map((role) => (role === 'public' ? role : name(role))).join(', ')}`,
        ...(policy.using === null ? [] : [`using (${policy.using})`]),
        ...(policy.check === null ? [] : [`with check (${policy.check})`]),
      ].join(' '),
    ),
    ...relation.triggers.map(({ definition }) => definition),
    ...relation.grants.map(
      ({ role, privileges }) =>
        `grant ${privileges.join(', ')} on ${own} to ${role === 'public' ? role : name(role)}`,
    ),
  ]
  return `${statements.join(';\n\n')};\n`
}
