import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { basename, dirname, isAbsolute, join, relative } from 'node:path'
import { codeOf, messageOf, OperatorError } from '../../../../lib/errors.ts'
import { readTextFile } from '../../../../lib/text-file.ts'
import { type CaseFile, parseCaseFile } from './case-file.ts'

/** Every `.toml` of the folder. @throws OperatorError */
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
 * Writes cases that a client of the API sends, who has no business with the folders of the server.
 *
 * @returns the path in the project, whose folder has the migrations @throws OperatorError where there is one
 */
export function writeCases(
  { policies, migrations }: { readonly policies: string; readonly migrations: string },
  name: string,
  content: string,
): string {
  const folder = relative(dirname(migrations), policies)
  const isInside = folder !== '' && !folder.startsWith('..') && !isAbsolute(folder)
  const shown = join(isInside ? folder : basename(policies), name).replaceAll('\\', '/')
  return writeCaseFile(join(policies, name), content, shown)
}

/** @param shown the path in messages @returns it @throws OperatorError where there is one */
export function writeCaseFile(path: string, content: string, shown = path): string {
  try {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, content, { flag: 'wx' })
    return shown
  } catch (error) {
    throw new OperatorError(
      codeOf(error) === 'EEXIST'
        ? `${shown} exists`
        : `cannot write ${shown}: ${messageOf(error).replaceAll(dirname(path), dirname(shown))}`,
      { cause: error },
    )
  }
}
