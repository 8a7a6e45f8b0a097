import { component, requiredByHandler } from '../../../http/schemas.ts'
import { type Static, Type } from '../../../lib/type.ts'
import type { SearchSettings } from '../collections/index.ts'
import { searchErrors } from './errors.ts'

/** Groups of words that searches treat as the same. */
export const SearchSynonyms = component(
  'SearchSynonyms',
  Type.Object({ groups: Type.Array(Type.Object({ terms: Type.Array(Type.String()) })) }),
)

/** Synonyms to store. The handler validates them, for messages that name terms. */
export const SearchSynonymsInput = component(
  'SearchSynonymsInput',
  Type.Object({
    groups: requiredByHandler(
      Type.Array(Type.Object({ terms: requiredByHandler(Type.Array(Type.String())) }), {
        description: 'An empty list removes all. Groups have 2 to 8 terms, each of at most 128 characters.',
      }),
    ),
  }),
)

/**
 * Maximum number of groups. Every search rewrites its query by all groups of the collection, which takes a few
 * milliseconds for this many.
 */
const mostGroups = 256
const mostTerms = 8
const mostCharacters = 128

/**
 * Returns the groups in their stored form: terms trimmed, in lower case and sorted.
 *
 * @throws AppError invalid_synonyms
 */
export function readSynonyms({ groups }: Static<typeof SearchSynonymsInput>): SearchSettings['synonyms'] {
  if (groups === undefined) throw invalid('groups is required')
  if (groups.length > mostGroups) throw invalid(`synonyms may include at most ${mostGroups} groups`)
  const known = new Set<string>()
  return groups.map(({ terms = [] }) => {
    const read = terms.map((term) => term.toWellFormed().trim().toLowerCase().replace(/\s+/g, ' '))
    if (read.length < 2) throw invalid('each synonym group must include at least two terms')
    if (read.length > mostTerms) throw invalid(`synonym groups may include at most ${mostTerms} terms`)
    for (const term of read) {
      if (term === '') throw invalid('synonym terms must not be empty')
      if (term.includes('\0')) throw invalid('synonym terms must not contain the character U+0000')
      if (Array.from(term).length > mostCharacters) {
        throw invalid(`synonym terms must be ${mostCharacters} characters or fewer`)
      }
      if (known.has(term)) throw invalid(`duplicate synonym term: ${term}`)
      known.add(term)
    }
    return read.sort()
  })
}

function invalid(problem: string): Error {
  return searchErrors.invalidSynonyms(problem)
}
