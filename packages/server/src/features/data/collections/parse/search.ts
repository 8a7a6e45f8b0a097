import { collectionErrors } from '../errors.ts'
import { type Parameters, parseFlag } from './parameters.ts'

/** Search of a list, as written. */
export interface Search {
  /** Search term in web-search syntax, without blanks around it. */
  readonly term: string
  /** Tolerance of typos. Undefined: words match only by their stem. */
  readonly fuzzy: FuzzySearch | undefined
  readonly hasHighlight: boolean
}

/** Search terms that tolerate typos. */
export interface FuzzySearch {
  /** Trigram similarity that counts as a match, from 0 to 1. */
  readonly threshold: number
  /** Words that must occur, without the operators of the syntax. */
  readonly words: readonly string[]
  /** Words that must not occur, in web-search syntax; empty for none. */
  readonly excluded: string
}

const termBytes = 1000
const defaultThreshold = 0.2

/**
 * Parses the search of a list. Returns undefined when there is none.
 *
 * @throws AppError naming the parameter and what was expected
 */
export function parseSearch(parameters: Parameters): Search | undefined {
  const written = (parameters.search ?? '').trim()
  if (Buffer.byteLength(written) > termBytes) throw invalid('search term too long')
  // PostgreSQL limits negations of negations, and fails beyond the limit (tsquery.c, STACKDEPTH).
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

/** Splits a term in web-search syntax into phrases and words, each with an optional minus before it. */
function splitTerm(term: string): Pick<FuzzySearch, 'words' | 'excluded'> {
  const words = new Set<string>()
  const excluded: string[] = []
  for (const [, minus = '', phrase, word = ''] of term.matchAll(/(-?)(?:"([^"]*)"?|([^\s"]+))/g)) {
    const text = phrase ?? word
    // Without a letter or digit a word has no trigrams, and nothing would be similar to it.
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
