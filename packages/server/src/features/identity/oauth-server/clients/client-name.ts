import { isStorableText } from '../../../../lib/storable-text.ts'

export const nameLimit = 200
/** Characters that reorder the surrounding text on the consent page (Unicode Standard Annex #9, §2). */
const controls = '\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069'
const directional = new RegExp(`[${controls}]`)
/** Pattern of names that are not blank, for the API document. */
export const nameForm = `^[^\\u0000${controls}]*[^\\s\\u0000${controls}][^\\u0000${controls}]*$`

/** Returns the problem with the name of a client, which users see. */
export function findNameProblem(name: string): string | undefined {
  if (name.length > nameLimit) return `at most ${nameLimit} characters`
  if (!isStorableText(name)) return 'expected Unicode text without NUL'
  if (directional.test(name)) return 'expected text without controls of its direction'
  return undefined
}
