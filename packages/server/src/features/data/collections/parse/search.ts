import { collectionErrors } from '../errors.ts'
import { type Parameters, parseFlag } from './parameters.ts'

/** What a list searches for, as written. */
export interface Search {
  /** In web-search syntax, without blanks around it. */
  readonly term: string
  /** Undefined: words match by their stem only. */
  readonly fuzzy: FuzzySearch | undefined
  readonly hasHighlight: boolean
}

/** What tolerates typos. */
export interface FuzzySearch {
  /** Trigram similarity that counts as a match, from 0 to 1. */
  readonly threshold: number
  /** What has to be there, without the operators of the syntax. */
  readonly words: readonly string[]
  /** What must not be there, in web-search syntax; empty: nothing. */
  readonly excluded: string
}

const termBytes = 1000
const defaultThreshold = 0.2

/**
 * Undefined when nothing is searched for.
 *
 * @throws AppError naming the parameter and what was expected
 */
export function parseSearch(parameters: Parameters): Search | undefined {
  const written = (parameters.search ?? '').trim()
  if (Buffer.byteLength(written) > termBytes) throw invalid('search term too long')
  // PostgreSQL has room for few negations of negations, and fails beyond (tsquery.c, STACKDEPTH).
  const term = written.replace(/(?:-\s*){2,}/g, '-')
  if (term.includes('\0')) throw invalid('search: PostgreSQL text cannot hold the character U+0000')
  const isFuzzy = parseFlag('fuzzy', parameters.fuzzy)
  const hasHighlight = parseFlag('highlight', parameters.highlight)
  if (isFuzzy && term === '') throw invalid('fuzzy parameter requires non-empty search')
  const threshold = parseThreshold(parameters.typo_threshold, isFuzzy)
  if (term === '') return undefined
  return { term, fuzzy: isFuzzy ? { threshold, ...splitTerm(term) } : undefined, hasHighlight }
}

function parseThreshold(text: string | undefined, isFuzzy: boolean): number {
  if (text === undefined) return defaultThreshold
  if (!isFuzzy) throw invalid('typo_threshold requires fuzzy=true')
  const threshold = /^(?:\d+(?:\.\d+)?|\.\d+)$/.test(text) ? Number(text) : Number.NaN
  if (!(threshold >= 0 && threshold <= 1)) throw invalid('typo_threshold must be a number between 0 and 1')
  return threshold
}

/** The parts of a term in web-search syntax: a phrase or a word, perhaps with a minus before it. */
function splitTerm(term: string): Pick<FuzzySearch, 'words' | 'excluded'> {
  const words = new Set<string>()
  const excluded: string[] = []
  for (const [, minus = '', phrase, word = ''] of term.matchAll(/(-?)(?:"([^"]*)"?|([^\s"]+))/g)) {
    const text = phrase ?? word
    // Without a letter or digit it has no trigrams, and nothing would be similar to it.
    if (!/[\p{L}\p{N}]/u.test(text)) continue
    if (minus === '-') excluded.push(phrase === undefined ? text : `"${text}"`)
    else if (phrase !== undefined || word.toLowerCase() !== 'or') {
      for (const each of text.split(/\s+/)) if (each !== '') words.add(each)
    }
  }
  return { words: [...words], excluded: excluded.join(' or ') }
}

function invalid(problem: string): Error {
  return collectionErrors.invalidParameter(problem)
}
