import { randomUUID } from 'node:crypto'
import { type FileHandle, open, unlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Column, Relation } from '../../../../database/catalog/model.ts'
import { collectionErrors } from '../errors.ts'
import { importErrors } from './errors.ts'
import { createRecordReader, type ImportFormat, type ReadRecord } from './records.ts'
import type { RowFault } from './result.ts'
import { RowFaults } from './row-faults.ts'

export interface SpoolLimits {
  readonly bytes: number
  readonly rows: number
  /** Maximum number of characters of one row. */
  readonly rowSize: number
}

/**
 * Rows of a body in a temporary file, in the format that COPY reads: row number, ordinal of the column set, JSON. A
 * slow client therefore occupies no connection, and an attempt that collides with another transaction can be
 * repeated.
 */
export interface Spool extends AsyncDisposable {
  /** Number of rows in the body, rejected ones included. */
  readonly rowCount: number
  readonly columnSets: readonly (readonly Column[])[]
  /** Faults of the rows that are not in the file. */
  readonly faults: RowFaults
  read(): AsyncIterable<Buffer>
}

/** Maximum number of column sets; the rows of one set are inserted by one statement. */
const columnSetLimit = 200
const flushSize = 256 * 1024

/** @throws AppError when the body as a whole is at fault */
export async function spoolRows(
  body: AsyncIterable<Buffer>,
  relation: Relation,
  format: ImportFormat,
  limits: SpoolLimits,
): Promise<Spool> {
  const writer = new RowWriter(limits.rows)
  return await writeSpool(writer, async (file) => {
    const reader = createRecordReader(relation, format, limits.rowSize)
    const decoder = new TextDecoder('utf-8', { fatal: true })
    let bytes = 0
    for await (const chunk of body) {
      bytes += chunk.length
      if (bytes > limits.bytes) throw importErrors.importTooLarge()
      writer.add(reader.read(decode(decoder, chunk)))
      if (writer.size >= flushSize) await file.write(writer.take())
    }
    if (bytes === 0) throw collectionErrors.emptyBody()
    writer.add([...reader.read(decode(decoder)), ...reader.end()])
  })
}

/** Returns the spool of the rows that a function gives to the writer. It may write them to the file as they come. */
async function writeSpool(writer: RowWriter, fill: (file: FileHandle) => Promise<void>): Promise<Spool> {
  const file = await openTemporary()
  try {
    await fill(file)
    await file.write(writer.take())
    return {
      rowCount: writer.rowCount,
      columnSets: writer.columnSets,
      faults: writer.faults,
      read: () => readFrom(file),
      [Symbol.asyncDispose]: () => file.close(),
    }
  } catch (error) {
    await file.close()
    throw error
  }
}

/** Row of a spool. */
export interface SpooledRow {
  /** Number of the row, from 1. */
  readonly row: number
  readonly columns: readonly Column[]
  readonly json: string
}

/** Limits of the rows that are rewritten together. */
export interface PartLimits {
  readonly rows: number
  /** Maximum number of characters, which a single row may exceed. */
  readonly size: number
}

/**
 * Returns a spool with the rows that a function makes of these, part by part.
 *
 * @param rewrite returns each row, or its fault
 */
export async function rewriteSpool(
  spool: Spool,
  limits: PartLimits,
  rewrite: (rows: readonly SpooledRow[]) => Promise<readonly (SpooledRow | RowFault)[]>,
): Promise<Spool> {
  const writer = new RowWriter(spool.rowCount)
  writer.rowCount = spool.rowCount
  writer.faults.restore(spool.faults)
  return await writeSpool(writer, async (file) => {
    let part: SpooledRow[] = []
    let size = 0
    const flush = async () => {
      const rows = part
      part = []
      size = 0
      if (rows.length > 0) writer.rewrite(await rewrite(rows))
      if (writer.size >= flushSize) await file.write(writer.take())
    }
    for await (const row of readRows(spool)) {
      if (part.length > 0 && (part.length === limits.rows || size + row.json.length > limits.size))
        await flush()
      part.push(row)
      size += row.json.length
    }
    await flush()
  })
}

async function* readRows({ read, columnSets }: Spool): AsyncGenerator<SpooledRow> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of read()) {
    const lines = `${rest}${decoder.decode(chunk, { stream: true })}`.split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      const [row = '', set = '', ...texts] = line.split('\t')
      const json = texts.join('\t').replace(/\\(.)/g, (_, escaped: string) => unescapes[escaped] ?? escaped)
      yield { row: Number(row), columns: columnSets[Number(set)] ?? [], json }
    }
  }
}

/** Opens a file without a name. It ends with the process, however that ends. */
async function openTemporary(): Promise<FileHandle> {
  const path = join(tmpdir(), `basalt-import-${randomUUID()}`)
  const file = await open(path, 'wx+', 0o600)
  await unlink(path)
  return file
}

async function* readFrom(file: FileHandle): AsyncGenerator<Buffer> {
  for (let position = 0; ; ) {
    const { bytesRead, buffer } = await file.read({ buffer: Buffer.alloc(flushSize), position })
    if (bytesRead === 0) return
    yield buffer.subarray(0, bytesRead)
    position += bytesRead
  }
}

function decode(decoder: InstanceType<typeof TextDecoder>, chunk?: Buffer): string {
  try {
    return decoder.decode(chunk, { stream: chunk !== undefined })
  } catch {
    throw importErrors.importEncoding()
  }
}

class RowWriter {
  readonly #rowLimit: number
  readonly #ordinalBySet = new Map<readonly Column[], number>()
  readonly columnSets: (readonly Column[])[] = []
  readonly faults = new RowFaults()
  rowCount = 0
  #text = ''

  constructor(rowLimit: number) {
    this.#rowLimit = rowLimit
  }

  get size(): number {
    return this.#text.length
  }

  add(records: readonly ReadRecord[]): void {
    for (const record of records) {
      this.rowCount += 1
      if (this.rowCount > this.#rowLimit) throw importErrors.importRowLimit(this.#rowLimit)
      if ('fault' in record) this.faults.add(this.rowCount, record.fault)
      else this.#text += `${this.rowCount}\t${this.#ordinalOf(record.columns)}\t${escapeText(record.json)}\n`
    }
  }

  /** Adds rows that have their numbers. */
  rewrite(rows: readonly (SpooledRow | RowFault)[]): void {
    for (const row of rows) {
      if ('message' in row) this.faults.add(row.row, row.message)
      else this.#text += `${row.row}\t${this.#ordinalOf(row.columns)}\t${escapeText(row.json)}\n`
    }
  }

  take(): Buffer {
    const bytes = Buffer.from(this.#text)
    this.#text = ''
    return bytes
  }

  #ordinalOf(columns: readonly Column[]): number {
    const known = this.#ordinalBySet.get(columns)
    if (known !== undefined) return known
    const isSame = (set: readonly Column[]) =>
      set.length === columns.length && set.every((column, index) => column === columns[index])
    let ordinal = this.columnSets.findIndex(isSame)
    if (ordinal === -1) {
      if (this.columnSets.length === columnSetLimit) throw importErrors.tooManyColumnSets(columnSetLimit)
      ordinal = this.columnSets.push(columns) - 1
    }
    // A set that the reader has not cached has a new array each time.
    if (this.#ordinalBySet.size < columnSetLimit) this.#ordinalBySet.set(columns, ordinal)
    return ordinal
  }
}

/** Escapes a text for COPY (PostgreSQL, COPY, Text Format). */
function escapeText(text: string): string {
  return /[\\\n\r\t]/.test(text)
    ? text.replace(/[\\\n\r\t]/g, (character) => escapes[character] ?? character)
    : text
}

const escapes: Readonly<Record<string, string>> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' }
const unescapes: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t' }
