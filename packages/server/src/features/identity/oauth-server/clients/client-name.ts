import { isStorableText } from '../../../../lib/storable-text.ts'

const limit = 200
/** What reorders the text around it on the page that asks for consent (Unicode Standard Annex #9, §2). */
const directional = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/

/** Returns what is wrong with the name of a client, which people are shown. */
export function findNameProblem(name: string): string | undefined {
  if (name.length > limit) return `at most ${limit} characters`
  if (!isStorableText(name)) return 'expected Unicode text without NUL'
  if (directional.test(name)) return 'expected text without controls of its direction'
  return undefined
}
