import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { codeOf, messageOf, OperatorError } from '../lib/errors.ts'

/**
 * Puts the text into the file in one step; what watches the file is left alone when nothing has changed.
 *
 * @returns whether it has
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
