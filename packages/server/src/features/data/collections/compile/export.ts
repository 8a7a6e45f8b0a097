import type { Column, ColumnType } from '../../../../database/catalog/model.ts'
import type { RowFrame } from '../../../../database/connection/copied-rows.ts'
import { type Sql, sql } from '../../../../database/sql.ts'
import type { ExportPlan } from '../plan/export.ts'
import { compileJsonValue, isJson, jsonNullMember } from './json-value.ts'
import { compileOrder } from './keyset.ts'
import { compileSelectList } from './record.ts'
import { compileFrom } from './rows.ts'

/** Alias of the collection's rows. */
const row = 't'

/** The rows as a COPY to the client, one more than there may be so that it shows when some are left out. */
export function compileExport(plan: ExportPlan): Sql {
  return plan.format === 'csv' ? compileCsv(plan) : compileJsonLines(plan)
}

/** What makes a document of the rows. */
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

/** Without it spreadsheets take the encoding for another one. */
const byteOrderMark = '\uFEFF'

/** What spreadsheets take for the start of a formula, full-width signs included (OWASP, CSV Injection). */
const formulaStart = /^([-=+@\t\r\n＝＋－＠])/

/** RFC 4180 §2. */
function quoteCsv(text: string): string {
  return /[",\r\n]/.test(text) || text === '' ? `"${text.replaceAll('"', '""')}"` : text
}

/** PostgreSQL quotes by itself; NULL is nothing, and an empty text `""`. */
function compileCsv(plan: ExportPlan): Sql {
  const items = plan.columns.map((column) => compileCsvValue(column, plan.isForSpreadsheet))
  return sql`copy (select ${sql.join(items)} ${compileRows(plan)}) to stdout (format csv)`
}

/**
 * A line of JSON for each row. It holds no control characters, so with two of them for quote and delimiter CSV is the
 * format that changes nothing of it.
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
    ? // A json keeps its blanks as they were sent, which outside of strings may be line ends.
      sql`translate(l.line, E'\\n\\r', '  ')`
    : sql`l.line`
  return sql`
    copy (select ${line} from (${source}) l)
    to stdout (format csv, quote E'\\x01', delimiter E'\\x02')`
}

/** Where the record shows null for both. */
function nameIfJsonNull({ name, type: { base } }: Column): Sql {
  const typeOf = base === 'json' ? sql`json_typeof` : sql`jsonb_typeof`
  return sql`case when ${typeOf}(${sql.id(row, name)}) = 'null' then ${sql.literal(name)}::text end`
}

function compileRows({ rows, order, maxRows }: ExportPlan): Sql {
  return sql`${compileFrom(rows, row)} ${compileOrder(order, row)} limit ${sql.integer(maxRows + 1)}`
}

function holdsJson({ base, element, attributes = [] }: ColumnType): boolean {
  if (base === 'json') return true
  return (element !== undefined && holdsJson(element)) || attributes.some(({ type }) => holdsJson(type))
}

/** A value as in JSON, but for the quotes of a string. */
function compileCsvValue({ name, type }: Column, isForSpreadsheet: boolean): Sql {
  const source = sql.id(row, name)
  const value = compileJsonValue(type, source, `${row}v`) ?? compilePlainValue(type, source)
  if (!isForSpreadsheet || type.json === 'integer' || type.json === 'number' || type.json === 'boolean')
    return value
  return sql`regexp_replace(${value}::text, ${sql.literal(formulaStart.source)}, '''\\1')`
}

/** Where the text that PostgreSQL writes differs from what JSON has. */
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
