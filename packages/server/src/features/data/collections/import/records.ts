import type { Column, ColumnType, Relation } from '../../../../database/catalog/model.ts'
import { AppError } from '../../../../lib/errors.ts'
import { isObject, parseJson } from '../../../../lib/json.ts'
import { suggestion } from '../../../../lib/suggestion.ts'
import { jsonNullMember } from '../compile/json-value.ts'
import { isMadeOfDefaults } from '../parse/record-body.ts'
import { requireFittingValue } from '../parse/values.ts'
import { CsvReader, type CsvRecord } from './csv.ts'
import { importErrors } from './errors.ts'
import { JsonArrayReader, JsonLinesReader, type TextReader } from './json-elements.ts'

/** Row as an insert reads it. */
export interface ImportRecord {
  /** Text of a JSON object. */
  readonly json: string
  /** Columns in table order. */
  readonly columns: readonly Column[]
}

/** Row, or its fault. */
export type ReadRecord = ImportRecord | { readonly fault: string }

/** Streaming reader of the rows of a body. @throws AppError when the body as a whole is at fault */
export interface RecordReader {
  read(chunk: string): ReadRecord[]
  end(): ReadRecord[]
}

export type ImportFormat = 'csv' | 'json' | 'ndjson'

/** @param sizeLimit maximum number of characters of a row */
export function createRecordReader(
  relation: Relation,
  format: ImportFormat,
  sizeLimit: number,
): RecordReader {
  if (format === 'csv') return new CsvRecordReader(relation, sizeLimit)
  const reader = format === 'json' ? new JsonArrayReader(sizeLimit) : new JsonLinesReader(sizeLimit)
  return new JsonRecordReader(relation, reader, format === 'ndjson', sizeLimit)
}

/** Returns whether a member or header that is no column is ignored, as in the body of a create. */
function isIgnored(name: string): boolean {
  return name === 'expand' || name.startsWith('_')
}

class JsonRecordReader implements RecordReader {
  readonly #relation: Relation
  readonly #reader: TextReader
  /** True if a row that is invalid JSON leaves the start of the next row clear. */
  readonly #isByLine: boolean
  readonly #sizeLimit: number
  /** Columns of rows, by their member names: rows mostly have the same members. */
  readonly #known = new Map<string, Members>()

  constructor(relation: Relation, reader: TextReader, isByLine: boolean, sizeLimit: number) {
    this.#relation = relation
    this.#reader = reader
    this.#isByLine = isByLine
    this.#sizeLimit = sizeLimit
  }

  read(chunk: string): ReadRecord[] {
    return this.#reader.read(chunk).map((text) => this.#readRecord(text))
  }

  end(): ReadRecord[] {
    return this.#reader.end().map((text) => this.#readRecord(text))
  }

  #readRecord(text: string | undefined): ReadRecord {
    if (text === undefined) return { fault: `more than ${this.#sizeLimit} characters` }
    const value = this.#parse(text)
    if (!isObject(value)) {
      return { fault: value === undefined ? 'invalid JSON' : 'expected an object' }
    }
    const { columns, fault } = this.#membersOf(Object.keys(value))
    if (fault !== undefined) return { fault }
    const misfit = findMisfit(columns, (column) => value[column.name])
    return misfit === undefined ? { json: text, columns } : { fault: misfit }
  }

  #parse(text: string): unknown {
    const value = parseJson(text)
    if (value === undefined && !this.#isByLine) throw importErrors.bodyNotArray()
    return value
  }

  #membersOf(names: readonly string[]): Members {
    const key = JSON.stringify(names)
    let members = this.#known.get(key)
    if (members === undefined) {
      members = resolveMembers(this.#relation, names)
      if (this.#known.size < knownLimit) this.#known.set(key, members)
    }
    return members
  }
}

interface Members {
  readonly columns: readonly Column[]
  readonly fault: string | undefined
}

const knownLimit = 1000

function resolveMembers(relation: Relation, names: readonly string[]): Members {
  const unknown = names.find((name) => !relation.column.has(name) && !isIgnored(name))
  if (unknown !== undefined) return { columns: [], fault: describeUnknown(relation, unknown) }
  const given = new Set(names)
  const columns = relation.columns.filter(({ name, isGenerated }) => given.has(name) && !isGenerated)
  const isEmpty = columns.length === 0 && !isMadeOfDefaults(relation)
  return { columns, fault: isEmpty ? 'no column that can be written' : undefined }
}

function describeUnknown({ columns }: Relation, name: string): string {
  const names = columns.map((column) => column.name)
  return `unknown column "${name}"${suggestion(name, names)}`
}

function findMisfit(columns: readonly Column[], read: (column: Column) => unknown): string | undefined {
  for (const column of columns) {
    try {
      requireFittingValue(column, read(column))
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      return describeFault(error)
    }
  }
  return undefined
}

/** Returns the error message with the detail that `data` has about a column. */
export function describeFault({ message, extras: { data = {} } }: AppError): string {
  const details = Object.entries(data).flatMap(([name, detail]) =>
    typeof detail === 'object' && detail !== null && 'message' in detail
      ? [`${name}: ${detail.message}`]
      : [],
  )
  return details.length === 0 ? message : `${message} (${details.join('; ')})`
}

class CsvRecordReader implements RecordReader {
  readonly #relation: Relation
  readonly #reader: CsvReader
  /** Columns by field. An entry is undefined where the field is ignored; the array is undefined before the header. */
  #header: readonly (HeaderColumn | undefined)[] | undefined
  #columns: readonly Column[] = []

  constructor(relation: Relation, sizeLimit: number) {
    this.#relation = relation
    this.#reader = new CsvReader(sizeLimit)
  }

  read(chunk: string): ReadRecord[] {
    return this.#readRecords(this.#reader.read(chunk))
  }

  end(): ReadRecord[] {
    const records = this.#readRecords(this.#reader.end())
    if (this.#header === undefined) throw importErrors.importHeader('expected the names of columns')
    return records
  }

  #readRecords(records: readonly CsvRecord[]): ReadRecord[] {
    const [first, ...rest] = records
    if (first === undefined) return []
    if (this.#header !== undefined)
      return records.map((record) => this.#readRecord(record, this.#header ?? []))
    const header = readHeader(this.#relation, first)
    this.#header = header
    const given = new Set(header.map((each) => each?.column))
    this.#columns = this.#relation.columns.filter((column) => given.has(column))
    return rest.map((record) => this.#readRecord(record, header))
  }

  #readRecord({ fields, fault }: CsvRecord, header: readonly (HeaderColumn | undefined)[]): ReadRecord {
    if (fault !== undefined) return { fault }
    if (fields.length !== header.length) {
      return {
        fault: `expected ${header.length} ${header.length === 1 ? 'field' : 'fields'}, got ${fields.length}`,
      }
    }
    let json = ''
    const jsonNulls: string[] = []
    for (const [index, text] of fields.entries()) {
      const found = header[index]
      if (found === undefined) continue
      const value = readField(found, text ?? null)
      if (value.fault !== undefined) return { fault: value.fault }
      json += `${json === '' ? '{' : ','}${found.member}${value.json}`
      if (text != null && found.form === 'json' && text.trim() === 'null') jsonNulls.push(found.column.name)
    }
    if (jsonNulls.length > 0 && !this.#relation.column.has(jsonNullMember)) {
      json += `,"${jsonNullMember}":${JSON.stringify(jsonNulls)}`
    }
    return { json: `${json}}`, columns: this.#columns }
  }
}

interface HeaderColumn {
  readonly column: Column
  /** Member name as JSON: `"name":` */
  readonly member: string
  readonly form: FieldForm
}

/** Form in which a field becomes JSON: unchanged, unchanged if it begins so, or as a text. */
type FieldForm = 'json' | '[' | '{' | 'text'

function readHeader(relation: Relation, { fields, fault }: CsvRecord): (HeaderColumn | undefined)[] {
  if (fault !== undefined) throw importErrors.importHeader(fault)
  const names = fields.map((field, index) => {
    // A column name may itself have blanks around it.
    const name = field != null && relation.column.has(field) ? field : (field?.trim() ?? '')
    if (name === '') throw importErrors.importHeader(`field ${index + 1} has no name`)
    return name
  })
  const repeated = names.find((name, index) => names.indexOf(name) !== index)
  if (repeated !== undefined) throw importErrors.importHeader(`column "${repeated}" is named twice`)
  const columns = names.map((name) => {
    const column = relation.column.get(name)
    if (column === undefined && !isIgnored(name)) {
      // Spreadsheets write this where the comma is the decimal sign.
      const isOtherwiseSeparated = names.length === 1 && /[;\t]/.test(name)
      throw importErrors.importHeader(
        isOtherwiseSeparated
          ? `unknown column "${name}"; fields are separated by commas`
          : describeUnknown(relation, name),
      )
    }
    if (column === undefined || column.isGenerated) return undefined
    return { column, member: `${JSON.stringify(name)}:`, form: formOf(column.type) }
  })
  if (columns.every((column) => column === undefined)) {
    throw importErrors.importHeader('no column that can be written')
  }
  return columns
}

function formOf({ base, element, attributes, spatialSchema }: ColumnType): FieldForm {
  if (base === 'json' || base === 'jsonb') return 'json'
  if (element !== undefined) return '['
  return attributes === undefined && spatialSchema === undefined ? 'text' : '{'
}

function readField(
  { column, form }: HeaderColumn,
  text: string | null,
): { readonly json: string; readonly fault?: string } {
  if (text === null) return { json: 'null' }
  const isJson = form === 'json' || (form !== 'text' && text.trimStart().startsWith(form))
  const value = isJson ? parseJson(text) : text
  if (value === undefined) return { json: '', fault: `${column.name}: expected valid JSON` }
  const fault = findMisfit([column], () => value)
  return { json: isJson ? text : JSON.stringify(text), ...(fault === undefined ? {} : { fault }) }
}
