import { sql } from '../../database/sql.ts'
import type { Queryable } from '../../database/system-database.ts'

/** Loss for nodes and clients of the previous release. */
export interface Break {
  readonly line: number
  readonly what: string
  /** Remedy in two releases. */
  readonly instead: string
}

/** Column of a relation that existed before the pending migrations. */
export interface KnownColumn {
  /** Name of the relation in statements. */
  readonly relation: string
  readonly column: string
  readonly type: string
  /** True if an insert without it fails. */
  readonly needsValue: boolean
}

/** Columns by the ids of relation and column, which survive renames. */
export type KnownColumns = ReadonlyMap<string, ReadonlyMap<number, KnownColumn>>

/** Lists columns. @param relations ids; by default all existing ones */
export async function listColumns(queryable: Queryable, relations?: Iterable<string>): Promise<KnownColumns> {
  const among = relations === undefined ? sql.empty : sql`and c.oid = any (${[...relations]}::oid[])`
  const rows = await queryable.many<
    KnownColumn & { oid: string; position: number } & Record<string, unknown>
  >(sql`
    select c.oid::text as oid, a.attnum::int as position,
      case when n.nspname = 'public' then '' else quote_ident(n.nspname) || '.' end || quote_ident(c.relname) as relation,
      quote_ident(a.attname) as column, format_type(a.atttypid, a.atttypmod) as type,
      c.relkind in ('r', 'p') and a.attnotnull and not a.atthasdef and a.attidentity = '' as "needsValue"
    from pg_class c
    join pg_namespace n on n.oid = c.relnamespace
    join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    where c.relkind in ('r', 'p', 'v', 'm', 'f') and n.nspname not like 'pg\\_%'
      and n.nspname not in ('information_schema', 'basalt') ${among}
    order by c.oid, a.attnum`)
  const byRelation = Map.groupBy(rows, ({ oid }) => oid)
  return new Map(
    [...byRelation].map(([oid, columns]) => [oid, new Map(columns.map((each) => [each.position, each]))]),
  )
}

/** Finds losses between two states of the same relations. Pure. */
export function compareColumns(before: KnownColumns, after: KnownColumns): Omit<Break, 'line'>[] {
  return [...before].flatMap(([oid, columns]) => {
    const now = after.get(oid)
    const [first] = columns.values()
    const [firstNow] = now?.values() ?? []
    if (first === undefined) return []
    if (firstNow === undefined || now === undefined) return [dropsRelation(first)]
    const { relation } = first
    return [
      ...(firstNow.relation === relation ? [] : [renamesRelation(first, firstNow)]),
      ...[...columns].flatMap(([position, column]) => compareColumn(column, now.get(position))),
      ...[...now].flatMap(([position, column]) =>
        !columns.has(position) && column.needsValue ? [addsRequired(column)] : [],
      ),
    ]
  })
}

function compareColumn(before: KnownColumn, after: KnownColumn | undefined): Omit<Break, 'line'>[] {
  const name = `${before.relation}.${before.column}`
  if (after === undefined) {
    const instead = `in this release stop using ${before.column} and let inserts leave it out, in the next one drop it`
    return [{ what: `drops ${name}`, instead }]
  }
  return [
    ...(after.column === before.column
      ? []
      : [
          {
            what: `renames ${name} to ${after.column}`,
            instead: `add ${after.column} and keep both equal by a trigger, in the next release drop ${before.column}`,
          },
        ]),
    ...(after.type === before.type
      ? []
      : [
          {
            what: `changes the type of ${name} from ${before.type} to ${after.type}`,
            instead: `add a column of type ${after.type} and keep both equal by a trigger, in the next release drop the old one`,
          },
        ]),
    ...(before.needsValue || !after.needsValue
      ? []
      : [
          {
            what: `refuses rows without ${name}`,
            instead: `give it a default or fill it by a trigger, in the next release set not null and drop that`,
          },
        ]),
  ]
}

function dropsRelation({ relation }: KnownColumn): Omit<Break, 'line'> {
  return { what: `drops ${relation}`, instead: 'in this release stop using it, in the next one drop it' }
}

function renamesRelation({ relation }: KnownColumn, now: KnownColumn): Omit<Break, 'line'> {
  const instead = `make a view ${relation} on ${now.relation} in the same migration, in the next release drop that`
  return { what: `renames ${relation} to ${now.relation}`, instead }
}

function addsRequired({ relation, column }: KnownColumn): Omit<Break, 'line'> {
  return {
    what: `adds ${relation}.${column}, which has to have a value`,
    instead: 'add it with a default or without not null, in the next release set not null',
  }
}
