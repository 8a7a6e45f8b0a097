import { readFile, realpath, stat } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import { type Answered, component, nullable, timestamp } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'

/** Number of lines before and after the line. */
const linesAround = 6
/** Maximum length of a line. */
const lineLimit = 300
/** Maximum size of a file in bytes. */
const sizeLimit = 1024 * 1024

export const SourceExcerpt = component(
  'FunctionSource',
  Type.Object({
    file: Type.String(),
    deploy: nullable(Type.String()),
    line: Type.Integer(),
    firstLine: Type.Integer({ description: 'Number of the first line of the excerpt.' }),
    lines: Type.Array(Type.String()),
    modifiedAt: nullable(timestamp, {
      description:
        'Time of the last change of a file on this machine. null for a deploy, which does not change.',
    }),
  }),
)
export type SourceExcerpt = Answered<typeof SourceExcerpt>

export interface SourcePosition {
  readonly file: string
  readonly line: number
  /** Hash of the deploy; undefined for the folder of this machine. */
  readonly deploy: string | undefined
}

/** Returns the lines around a position; undefined if there is no such line. @param folder of the functions on this machine */
export async function readExcerpt(
  database: Queryable,
  { file, line, deploy }: SourcePosition,
  folder: string,
): Promise<SourceExcerpt | undefined> {
  if (!/^[^\0\\]+\.[cm]?[jt]s$/.test(file)) return undefined
  const found =
    deploy === undefined ? await readFromFolder(folder, file) : await readFromDeploy(database, deploy, file)
  const lines = found?.text.split('\n') ?? []
  if (found === undefined || line > lines.length) return undefined
  const firstLine = Math.max(1, line - linesAround)
  return {
    ...{ file, line, firstLine },
    deploy: deploy ?? null,
    lines: lines.slice(firstLine - 1, line + linesAround).map((text) => text.slice(0, lineLimit).trimEnd()),
    modifiedAt: found.modifiedAt,
  }
}

interface SourceFile {
  readonly text: string
  readonly modifiedAt: Date | null
}

async function readFromDeploy(
  database: Queryable,
  deploy: string,
  file: string,
): Promise<SourceFile | undefined> {
  const row = await database.maybeOne<{ bytes: Buffer }>(sql`
    select b.bytes from basalt.function_files f join basalt.function_blobs b on b.sha256 = f.sha256
    where f.hash = ${deploy} and f.path = ${`functions/${file}`} and f.size <= ${sizeLimit}::int`)
  return row === undefined ? undefined : { text: row.bytes.toString(), modifiedAt: null }
}

/** Reads a file of the folder, and nothing outside of it: neither by dots nor by links. */
async function readFromFolder(folder: string, file: string): Promise<SourceFile | undefined> {
  try {
    const root = await realpath(folder)
    const path = await realpath(join(root, file))
    if (path !== join(root, file) || !path.startsWith(join(root, sep))) return undefined
    const { size, mtime } = await stat(path)
    if (size > sizeLimit) return undefined
    return { text: await readFile(path, 'utf8'), modifiedAt: mtime }
  } catch {
    return undefined
  }
}
