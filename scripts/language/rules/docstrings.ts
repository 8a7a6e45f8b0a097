import type { Subject } from '../prose.ts'
import type { Sentence } from '../sentences.ts'

/** Words that begin a relative clause or an inversion. */
const never = new Set(
  'what of those whether by how who whom whose where why when which whoever whatever wherever theirs that'.split(
    ' ',
  ),
)

/** Words that begin no comment and no description, either. The others begin questions and conditions there. */
const neverAnywhere = /^(?:what|of|those|whether|by|how)\b/i

/** Words that begin no noun phrase: prepositions, conjunctions and pronouns. */
const noNoun = new Set(
  `about above after against along among around as at because before below beneath beside besides between beyond despite down
  during except for from if in inside into it like nobody none off on onto out outside over past per since so somebody
  something than then there these they this though through throughout till to toward towards under underneath unless until
  up upon via while with within without yet and or but not only also`.split(/\s+/),
)

/** Plurals of nouns, which look like verbs in the third person. */
const plurals = new Set(
  `accounts actions addresses administrators algorithms aliases apps areas arguments arrays assertions
  attestations attributes authors backups benchmarks bodies bounds branches browsers buckets buffers
  buttons bytes callbacks callers cards cases cells certificates challenges changesets characters children
  choices chunks classes clients codecs codes collections colors columns comments components conditions
  connections constants constraints consumers contents cookies coordinates credentials cursors days
  defaults definitions deliveries dependencies descriptions details developers devices dialogs digests
  digits dimensions directories domains editors elements embeddings endpoints entries environments epochs
  errors events examples exceptions expressions extensions facets factors facts failures fields figures
  files folders forms frames functions grants guards hashes headers helpers hooks hosts hours icons
  identifiers identities ids images indexes inputs instances integers intervals items jobs keys keywords
  languages latencies layers leases lengths letters levels lexemes lines literals locales logs members
  messages methods metrics microseconds migrations milliseconds minutes modes modules months nanoseconds
  nodes numerals objects oids operations operators options organizations origins outcomes outputs owners
  packages pages pairs paragraphs parameters parsers partitions parts passkeys passwords paths payloads
  people permissions persons phrases pids pieces pixels placeholders plugins pointers points policies
  pools ports positions prefixes privileges problems procedures processes properties providers
  publications reasons receipts receivers recipients relations relationships replicas resources responses
  results rights roles routes rows rules salts schemas scopes screens scripts seconds secrets sections
  senders sentences sequences series servers sessions settings shapes signals sites sizes slots snapshots
  sockets sources statements states statistics statuses steps strings subscribers subscriptions suffixes
  suggestions summaries symbols tables tabs tags tasks templates tenants terms texts things threads
  tickets times timestamps tokens tools topics totals transactions triggers trigrams tuples types units
  urls usernames users values variables vectors versions violations volumes waiters ways webhooks weeks
  weights widths windows words workers writers years zones`.split(/\s+/),
)

/** Plurals that are verbs, too. A following word of {@link afterNoun} makes them nouns. */
const eitherWord = new Set(
  `answers attempts calls changes claims copies costs counts documents filters groups labels limits links lists locks marks names
  notes numbers orders plans queues reads records redirects replies reports requests results rolls samples schedules searches
  stages starts stops stores streams tests tickets tries uploads uses views works writes`.split(/\s+/),
)
const afterNoun = /^(?:of|that|which|whose|who|are|were|as|without|per|after|before|until)(?:\s|$)/

/** Verbs in the third person that end with another letter than s, or that the endings below exclude. */
const otherVerbs = new Set(['does', 'has', 'is', 'can', 'may', 'must', 'cannot'])

/**
 * Checks the first word of a docstring. Functions and methods need a verb in the third person. Types, constants and fields need a
 * noun phrase: no preposition, conjunction or pronoun. None may begin with a word such as What, Of or Whether.
 */
export function checkDocstring(
  sentence: Sentence,
  subject: Subject,
): { rule: string; problem: string } | undefined {
  const [first = '', ...rest] = sentence.bare.split(' ')
  const word = plainWord(first)
  if (never.has(word)) return { rule: 'docstring-first-word', problem: `a docstring begins with "${first}"` }
  switch (subject) {
    case 'file':
    case 'callback':
      return undefined
    case 'component':
      return noNoun.has(word)
        ? { rule: 'docstring-noun', problem: `"${first}" begins no noun phrase` }
        : undefined
    case 'function':
      return isVerb(first, rest.join(' '))
        ? undefined
        : { rule: 'docstring-verb', problem: `"${first}" is no verb in the third person` }
    default:
      return noNoun.has(word)
        ? { rule: 'docstring-noun', problem: `"${first}" begins no noun phrase` }
        : undefined
  }
}

/** Rejects comments and descriptions that begin with a word such as What, Of or By. */
export function checkFirstWord({ bare }: Sentence): string | undefined {
  const word = neverAnywhere.exec(bare)?.[0]
  return word === undefined ? undefined : `the text begins with "${word}"`
}

function isVerb(first: string, rest: string): boolean {
  const word = plainWord(first)
  if (otherVerbs.has(word)) return true
  // An adverb before the verb: Also returns, Atomically replaces, Never throws, Immediately ends.
  if (/^(?:also|never|always|only|then|later|\p{Ll}+ly)$/u.test(word)) {
    const [next = '', ...others] = rest.split(' ')
    return isVerb(next, others.join(' '))
  }
  if (!/^\p{Ll}[\p{Ll}-]*s$/u.test(word) || /(?:ss|us|ous|is|ness)$/.test(word)) return false
  if (plurals.has(word) || (word !== 'disposes' && rest.startsWith('of '))) return false
  if (!eitherWord.has(word)) return true
  // "Lists, reads and writes" and "Stops and removes" are verbs; "Lists, sets and maps" are not.
  const next = /^(?:and )?(?<next>\S+)/.exec(rest)?.groups?.next ?? ''
  if (first.endsWith(',') || rest.startsWith('and ')) return isVerb(next, '')
  return !first.endsWith(':') && !afterNoun.test(rest)
}

function plainWord(word: string): string {
  return word.toLowerCase().replaceAll(/[^\p{L}'-]/gu, '')
}
