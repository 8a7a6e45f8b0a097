import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { codeOf, messageOf, OperatorError } from '../../lib/errors.ts'
import { type CaseFile, parseCaseFile } from './case-file.ts'

/** Every `.toml` of the folder. @throws OperatorError */
export function readCaseFiles(folder: string): CaseFile[] {
  try {
    return readdirSync(folder)
      .filter((name) => name.endsWith('.toml'))
      .toSorted()
      .map((name) => parseCaseFile(name, readFileSync(join(folder, name), 'utf8')))
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return []
    if (error instanceof OperatorError) throw error
    throw new OperatorError(`cannot read ${folder}: ${messageOf(error)}`)
  }
}

/** @returns the path @throws OperatorError where there is one */
export function writeCaseFile(path: string, content: string): string {
  try {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, content, { flag: 'wx' })
    return path
  } catch (error) {
    throw new OperatorError(
      codeOf(error) === 'EEXIST' ? `${path} exists` : `cannot write ${path}: ${messageOf(error)}`,
      { cause: error },
    )
  }
}
