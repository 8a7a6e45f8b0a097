import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { codeOf, messageOf, OperatorError } from '../lib/errors.ts'

/**
 * Replaces the text of a file in one step. An unchanged text is not written, so that file watchers do not run.
 *
 * @returns true if it has changed
 * @throws OperatorError when it cannot be written
 */
export async function replaceFile(path: string, text: string): Promise<boolean> {
  try {
    if ((await readFile(path, 'utf8').catch(unlessAbsent)) === text) return false
    await mkdir(dirname(path), { recursive: true })
    const temporary = `${path}.${process.pid}.tmp`
    await writeFile(temporary, text)
    await rename(temporary, path)
    return true
  } catch (error) {
    throw new OperatorError(`cannot write ${path}: ${messageOf(error)}`, { cause: error })
  }
}

function unlessAbsent(error: unknown): undefined {
  if (codeOf(error) !== 'ENOENT') throw error
}
