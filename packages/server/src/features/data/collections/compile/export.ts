import type { Column, ColumnType } from '../../../../database/catalog/model.ts'
import type { RowFrame } from '../../../../database/connection/copied-rows.ts'
import { type Sql, sql } from '../../../../database/sql.ts'
import type { ExportPlan } from '../plan/export.ts'
import { compileJsonValue, isJson, jsonNullMember } from './json-value.ts'
import { compileOrder } from './keyset.ts'
import { compileSelectList } from './record.ts'
import { compileJoins } from './related-joins.ts'
import { compileFrom } from './rows.ts'

/** Alias of the collection's rows. */
const row = 't'

/**
 * Compiles a COPY of the rows to the client. It has one row more than the limit, which shows that rows are left out.
 */
export function compileExport(plan: ExportPlan): Sql {
  return plan.format === 'csv' ? compileCsv(plan) : compileJsonLines(plan)
}

/** Returns the frame that makes a document of the rows. */
export function exportFrame({ format, columns, isForSpreadsheet }: ExportPlan): RowFrame {
  switch (format) {
    case 'csv': {
      const names = columns.map(({ name }) => (isForSpreadsheet ? name.replace(formulaStart, "'$1") : name))
      const head = `${names.map(quoteCsv).join()}\n`
      return { before: isForSpreadsheet ? byteOrderMark + head : head, between: '', after: '' }
    }
    case 'json':
      return { before: '[', between: ',', after: ']' }
    case 'ndjson':
      return { before: '', between: '', after: '' }
  }
}

/** Byte order mark, without which spreadsheets assume another encoding. */
const byteOrderMark = '\uFEFF'

/**
 * Characters that spreadsheets interpret as the start of a formula, full-width signs included (OWASP, CSV Injection).
 */
const formulaStart = /^([-=+@\t\r\n＝＋－＠])/

/** Quotes a CSV field (RFC 4180 §2). */
function quoteCsv(text: string): string {
  return /[",\r\n]/.test(text) || text === '' ? `"${text.replaceAll('"', '""')}"` : text
}

/** Compiles the CSV columns. PostgreSQL quotes them by itself; NULL is an empty field, and an empty text is `""`. */
function compileCsv(plan: ExportPlan): Sql {
  const items = plan.columns.map((column) => compileCsvValue(column, plan.isForSpreadsheet))
  return sql`copy (select ${sql.join(items)} ${compileRows(plan)}) to stdout (format csv)`
}

/**
 * Compiles a line of JSON for each row. A line holds no control characters. With two of them as quote and delimiter,
 * CSV is the format that leaves the line unchanged.
 */
function compileJsonLines(plan: ExportPlan): Sql {
  const { rows, columns } = plan
  const items = compileSelectList({ relation: rows.relation, columns, expand: undefined }, row)
  const jsonNulls = rows.relation.column.has(jsonNullMember) ? [] : columns.filter(isJson)
  const source =
    jsonNulls.length === 0
      ? sql`select row_to_json(r.*)::text as line from (select ${items} ${compileRows(plan)}) r`
      : sql`
        select n.line || case when n.nulls = '{}' then '}' else
            ${sql.literal(`,"${jsonNullMember}":`)} || array_to_json(n.nulls) || '}' end as line
        from (
          select left((select row_to_json(r.*)::text from (select ${items}) r), -1) as line,
            array_remove(array[${sql.join(jsonNulls.map(nameIfJsonNull))}], null) as nulls
          ${compileRows(plan)}
        ) n`
  const line = columns.some(({ type }) => holdsJson(type))
    ? // A json keeps its blanks as sent, and outside strings these may be line ends.
      sql`translate(l.line, E'\\n\\r', '  ')`
    : sql`l.line`
  return sql`
    copy (select ${line} from (${source}) l)
    to stdout (format csv, quote E'\\x01', delimiter E'\\x02')`
}

/** Compiles the column's name where its value is a JSON null, since the record has null for both. */
function nameIfJsonNull({ name, type: { base } }: Column): Sql {
  const typeOf = base === 'json' ? sql`json_typeof` : sql`jsonb_typeof`
  return sql`case when ${typeOf}(${sql.id(row, name)}) = 'null' then ${sql.literal(name)}::text end`
}

function compileRows({ rows, order, maxRows }: ExportPlan): Sql {
  const joins = compileJoins(order, row)
  return sql`${compileFrom(rows, row, [], { joins })} ${compileOrder(order, row)} limit ${sql.integer(maxRows + 1)}`
}

function holdsJson({ base, element, attributes = [] }: ColumnType): boolean {
  if (base === 'json') return true
  return (element !== undefined && holdsJson(element)) || attributes.some(({ type }) => holdsJson(type))
}

/** Compiles a value as in JSON, but without the quotes of a string. */
function compileCsvValue({ name, type }: Column, isForSpreadsheet: boolean): Sql {
  const source = sql.id(row, name)
  const value = compileJsonValue(type, source, `${row}v`) ?? compilePlainValue(type, source)
  if (!isForSpreadsheet || type.json === 'integer' || type.json === 'number' || type.json === 'boolean')
    return value
  return sql`regexp_replace(${value}::text, ${sql.literal(formulaStart.source)}, '''\\1')`
}

/** Compiles a value whose PostgreSQL text differs from its JSON form. */
function compilePlainValue({ base, element, attributes }: ColumnType, source: Sql): Sql {
  if (element !== undefined || attributes !== undefined) return sql`to_json(${source})`
  switch (base) {
    case 'bool':
      return sql`${source}::text`
    case 'timestamp':
    case 'timestamptz':
      return sql`btrim(to_json(${source})::text, '"')`
    default:
      return source
  }
}
