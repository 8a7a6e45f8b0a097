import { isUtf8 } from 'node:buffer'
import { readFileSync } from 'node:fs'
import { messageOf, OperatorError } from './errors.ts'

/**
 * Reads a text file that an operator has written, without a byte order mark.
 *
 * @param shown the path in messages
 * @throws OperatorError when it cannot be read or is not text
 */
export function readTextFile(path: string, shown = path): string {
  let bytes: Buffer
  try {
    bytes = readFileSync(path)
  } catch (error) {
    throw new OperatorError(`cannot read ${shown}: ${messageOf(error)}`, { cause: error })
  }
  return decodeText(bytes, shown)
}

/**
 * Decodes UTF-8. Invalid bytes would otherwise be stored as U+FFFD, and PostgreSQL cannot store NUL in text.
 * Pure.
 *
 * @throws OperatorError with the line, from 1
 */
export function decodeText(bytes: Uint8Array, shown: string): string {
  const isText = (part: Uint8Array) => isUtf8(part) && !part.includes(0)
  if (!isText(bytes)) {
    let line = 1
    let start = 0
    // In UTF-8 a byte 0x0A is always a line feed (RFC 3629, section 3).
    for (let end = bytes.indexOf(10); end >= 0 && isText(bytes.subarray(start, end)); line += 1) {
      start = end + 1
      end = bytes.indexOf(10, start)
    }
    throw new OperatorError(`${shown}:${line}: expected UTF-8 text without NUL`)
  }
  return new TextDecoder().decode(bytes)
}
