import type { ColumnType } from '../../../../database/catalog/model.ts'
import { type Sql, sql } from '../../../../database/sql.ts'
import type {
  AggregateMember,
  Related,
  RelatedList,
  SelectedAggregate,
  SelectedColumn,
  SelectedFigure,
  SelectedMember,
  Selection,
} from '../plan/selection.ts'
import { compileFigure } from './aggregate.ts'
import { compileJsonValue } from './json-value.ts'
import { compileOrder } from './keyset.ts'
import { compileJoins } from './related-joins.ts'
import { compileReference, relationName } from './relation.ts'
import { compileFrom } from './rows.ts'

/** Returns the select list of a selection whose row is that of `alias`. */
export function compileSelection(selection: Selection, alias: string): Sql {
  return sql.join(selection.map((member) => sql`${compileMember(member, alias)} as ${sql.id(member.key)}`))
}

function compileMember(member: SelectedMember, alias: string): Sql {
  const child = `${alias}x`
  switch (member.kind) {
    case 'column':
      return compileColumn(member, alias)
    case 'constant':
      return compileConstant(member.value)
    case 'computed':
      return member.name === undefined ? sql`null::float8` : sql.id(alias, member.name)
    case 'value':
      return member.compile(alias)
    case 'self':
      return sql`(select row_to_json(r.*) from (select ${compileSelection(member.record.selection, alias)}) r)`
    case 'record': {
      const { record, related } = member
      return sql`(
        select row_to_json(r.*)
        from (
          select ${compileSelection(record.selection, child)}
          from ${relationName(record.relation)} ${sql.id(child)}
          where ${compileReference(related.from, related.relationship, record.relation, alias, child)}
          limit 1
        ) r)`
    }
    case 'records':
      return compileRelatedList(member.related, member.list, alias, child)
    case 'aggregate': {
      const { aggregate, related } = member
      const { relation } = aggregate.rows
      const isRelated = compileReference(related.from, related.relationship, relation, alias, child)
      return compileFigures(aggregate, child, [isRelated])
    }
  }
}

function compileColumn(selected: SelectedColumn, alias: string): Sql {
  return compileColumnValue(selected, sql.id(alias, selected.column.name), alias)
}

/** Returns the value of a column in the form of the response. @param alias alias that no other one begins with */
export function compileColumnValue(
  { column, isText, renamed }: SelectedColumn,
  source: Sql,
  alias: string,
): Sql {
  if (renamed !== undefined) {
    const branches = [...renamed].map(
      ([label, name]) => sql`when ${sql.literal(label)} then ${sql.literal(name)}`,
    )
    return sql`case ${source}::text ${sql.join(branches, sql` `)} else ${source}::text end`
  }
  return compileValue(column.type, source, isText, `${alias}v`)
}

function compileValue(type: ColumnType, source: Sql, isText: boolean, alias: string): Sql {
  if (isText) return type.element === undefined ? sql`${source}::text` : sql`${source}::text[]`
  return compileJsonValue(type, source, alias) ?? source
}

export function compileConstant(value: string): Sql {
  return sql`${sql.literal(value)}::text`
}

function compileRelatedList(
  { from, relationship }: Related,
  { record, rows, order, distinct, limit, offset }: RelatedList,
  parent: string,
  child: string,
): Sql {
  const isRelated = compileReference(from, relationship, rows.relation, parent, child)
  return sql`(
    select coalesce(json_agg(r.*), '[]')
    from (
      select ${compileDistinct(distinct, child)}${compileSelection(record.selection, child)}
      ${compileFrom(rows, child, [isRelated], { joins: compileJoins(order, child) })}
      ${compileOrder(order, child)}
      limit ${sql.integer(limit)}
      ${offset === 0 ? sql.empty : sql`offset ${String(offset)}`}
    ) r)`
}

/** Returns `distinct on (…)` before a select list; empty without columns. */
export function compileDistinct(columns: readonly { readonly name: string }[], alias: string): Sql {
  if (columns.length === 0) return sql.empty
  return sql`distinct on (${sql.join(columns.map(({ name }) => sql.id(alias, name)))}) `
}

/**
 * Returns a subquery whose value is one JSON object of figures over the rows.
 *
 * @param further conditions on the rows of `alias`
 */
export function compileFigures(
  { rows, members }: SelectedAggregate,
  alias: string,
  further: readonly Sql[] = [],
): Sql {
  const computed: Sql[] = []
  /** Computes a value below, and returns its name above. */
  const compute = (value: Sql): Sql => {
    const name = sql.id(`f${computed.length}`)
    computed.push(sql`${value} as ${name}`)
    return sql`f.${name}`
  }
  const list = members.map((member) => sql`${compileGroup(member, alias, compute)} as ${sql.id(member.key)}`)
  // Constants alone read no rows.
  const source =
    computed.length === 0
      ? sql`select`
      : sql`select ${sql.join(computed)} ${compileFrom(rows, alias, further)}`
  return sql`(select row_to_json(g.*) from (select ${sql.join(list)} from (${source}) f) g)`
}

function compileGroup(member: AggregateMember, alias: string, compute: (value: Sql) => Sql): Sql {
  switch (member.kind) {
    case 'constant':
      return compileConstant(member.value)
    case 'count':
      return compute(sql`count(*)`)
    case 'columns': {
      const list = member.figures.map(
        (figure) => sql`${compileSelectedFigure(figure, alias, compute)} as ${sql.id(figure.key)}`,
      )
      return sql`(select row_to_json(v.*) from (select ${sql.join(list)}) v)`
    }
  }
}

function compileSelectedFigure(figure: SelectedFigure, alias: string, compute: (value: Sql) => Sql): Sql {
  if (figure.kind === 'constant') return compileConstant(figure.value)
  const { column, isText, function: name } = figure
  const value = compute(compileFigure({ function: name, column }, alias))
  if (name !== 'min' && name !== 'max') return isText ? sql`${value}::text` : value
  return compileValue(column.type, value, isText, `${alias}v`)
}
