import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { basename, dirname, isAbsolute, join, relative } from 'node:path'
import { codeOf, messageOf, OperatorError } from '../../../../lib/errors.ts'
import { readTextFile } from '../../../../lib/text-file.ts'
import { type CaseFile, parseCaseFile } from './case-file.ts'

/** Reads every `.toml` file of the folder. @throws OperatorError */
export function readCaseFiles(folder: string): CaseFile[] {
  try {
    return readdirSync(folder)
      .filter((name) => name.endsWith('.toml'))
      .toSorted()
      .map((name) => parseCaseFile(name, readTextFile(join(folder, name), name)))
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return []
    if (error instanceof OperatorError) throw error
    throw new OperatorError(`cannot read ${folder}: ${messageOf(error)}`)
  }
}

/**
 * Writes cases sent by an API client, which must not learn the folders of the server.
 *
 * @returns the path in the project, whose folder has the migrations @throws OperatorError if the file exists
 */
export function writeCases(
  { policies, migrations }: { readonly policies: string; readonly migrations: string },
  name: string,
  content: string,
): string {
  const folder = relative(dirname(migrations), policies)
  const isInside = folder !== '' && !folder.startsWith('..') && !isAbsolute(folder)
  const displayPath = join(isInside ? folder : basename(policies), name).replaceAll('\\', '/')
  return writeCaseFile(join(policies, name), content, displayPath)
}

/** @param displayPath the path in messages @returns it @throws OperatorError if the file exists */
export function writeCaseFile(path: string, content: string, displayPath = path): string {
  try {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, content, { flag: 'wx' })
    return displayPath
  } catch (error) {
    throw new OperatorError(
      codeOf(error) === 'EEXIST'
        ? `${displayPath} exists`
        : `cannot write ${displayPath}: ${messageOf(error).replaceAll(dirname(path), dirname(displayPath))}`,
      { cause: error },
    )
  }
}
