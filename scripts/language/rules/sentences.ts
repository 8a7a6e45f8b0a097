import { countWords, type Sentence } from '../sentences.ts'

const longest = 30
const mostClauses = 1

/** Rejects a sentence of more than 30 words. */
export function checkLength(sentence: Sentence): string | undefined {
  const words = countWords(sentence.bare)
  return words > longest ? `${words} words, of at most ${longest}` : undefined
}

/** Rejects a sentence of more than one relative clause. */
export function checkClauses(sentence: Sentence): string | undefined {
  const clauses = findClauses(sentence.bare)
  return clauses.length > mostClauses
    ? `${clauses.length} relative clauses (${clauses.join(', ')}), of at most ${mostClauses}`
    : undefined
}

/** Words before a `that` that is a conjunction or a determiner. */
const beforeOtherThat = new Set(
  `so such now given provided assuming except and or but if when while as than of in on at by to for from with after before
  until since under over about like without through is are was were be not only also even just all whether because once unless
  sure certain clear true false likely possible unlikely important necessary enough
  say says said saying state states stated mean means meant meaning know knows known knowing see sees seen show shows showed
  shown ensure ensures ensured ensuring check checks checked checking verify verifies verified prove proves proved proof proven
  require requires required requiring assume assumes assumed believe believes expect expects expected note notes noted notice
  notices noticed guarantee guarantees guaranteed promise promises find finds found finding decide decides decided learn learns
  learned think thinks thought claim claims claimed tell tells told suggest suggests suggested imply implies implied implying
  confirm confirms confirmed demand demands demanded remember remembers remembered report reports reported assert asserts
  asserted warn warns warned warning let lets allow allows make makes made agree agrees fact idea sense sign evidence condition
  rule knowledge hope reason requirement guess knows insist insists recommend recommends conclude concludes detect detects
  detected observe observes observed test tests tested document documents documented establish establishes accept accepts happen
  happens follow follows seem seems appear appears admit admits it them him us you me`.split(/\s+/),
)

/** Words before an indirect question, which begins with `which`, `who`, `what` or `where`. */
const beforeQuestion = new Set(
  `ask asks asked asking know knows known knowing see sees seen seeing show shows shown showing say says said saying tell tells
  told telling state states stated decide decides decided deciding determine determines determined determining choose chooses
  chosen choosing check checks checked checking find finds found finding learn learns learned describe describes described
  describing explain explains explained define defines defined mean means control controls controlled specify specifies
  specified select selects selected set sets print prints printed record records recorded report reports reported list lists
  listed listing name names named naming measure measures measured note notes noted remember remembers understand understands
  judge judges matter matters depend depends about on of in by from to for with as than at and or but over whether exactly
  just only no matter compare compares log logs logged return returns returned returning count counts counted test tests
  tested verify verifies limit limits limited until between is are not out up guess guesses forget forgets configure
  configures`.split(/\s+/),
)

const pronoun = new Set(['which', 'who', 'whom', 'whose'])

/**
 * Lists the words that begin the relative clauses of a sentence. The heuristic knows no parts of speech:
 *
 * - `who`, `whom`, `whose`, `which`, `where` and `what` count unless they begin the sentence or an indirect question ("decides which
 *   node"). After a preposition, `which` and `whom` count all the same ("by which").
 * - `that` counts unless it follows a verb of saying or ensuring, a conjunction, a preposition or a comma.
 * - A second clause of the same noun ("that is open and that nobody reads") and clauses without a pronoun do not count.
 */
export function findClauses(bare: string): string[] {
  const words = bare.split(' ')
  const clauses: string[] = []
  for (const [index, word] of words.entries()) {
    const plain = word.toLowerCase().replaceAll(/[^\p{L}]/gu, '')
    const raw = words[index - 1]
    if (raw === undefined || /[.:!?]["')]?$/.test(raw) || /^["'(]/.test(word)) continue
    const before = raw.toLowerCase().replaceAll(/[^\p{L}]/gu, '')
    const next = (words[index + 1] ?? '').toLowerCase().replaceAll(/[^\p{L}]/gu, '')
    if (plain === 'that') {
      if (/[,;]$/.test(raw) || beforeOtherThat.has(before) || next === '' || next === 'of') continue
      if (before === '' && !/[¤\d]/.test(raw)) continue
      clauses.push('that')
    } else if (pronoun.has(plain)) {
      const preposition =
        /^(?:which|whom)$/.test(plain) &&
        /^(?:by|in|of|on|for|from|to|with|at|under|through|after)$/.test(before)
      const beforeIt = (words[index - 2] ?? '').toLowerCase().replaceAll(/[^\p{L}]/gu, '')
      if (preposition ? beforeQuestion.has(beforeIt) && beforeIt !== 'and' : beforeQuestion.has(before))
        continue
      clauses.push(plain)
    } else if (plain === 'what' && !beforeQuestion.has(before)) {
      clauses.push(plain)
    } else if (plain === 'where' && !beforeQuestion.has(before) && !/^(?:clause|condition|else)/.test(next)) {
      clauses.push(plain)
    }
  }
  return clauses
}
