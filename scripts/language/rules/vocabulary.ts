/** Private word and its replacement. */
export interface Term {
  readonly not: RegExp
  readonly but: string
  /** Files and sentences in which the word has another sense. */
  readonly unless?: RegExp
}

/**
 * Private words, each with the field's word. A pattern finds a sense, not a word: it accepts `in place` and `decimal places`, but not
 * `place` for a position.
 */
export const vocabulary: readonly Term[] = [
  { not: /\b(?:told|tells?|telling)\b/i, but: 'notify, deliver, say, show or distinguish' },
  {
    not: /\b(?:heard|hears?)\b|\blisten(?:s|ed|ing)? to (?!¤)(?!the (?:channel|address|port|socket))/i,
    but: 'receive, subscriber, listener',
  },
  { not: /\b(?:comes?|came|coming) back\b/i, but: 'reconnect, restart, return' },
  { not: /\b(?:goes|go|went|gone|going) on(?! (?:¤|to the|a |an |the ))\b/i, but: 'continue, resume' },
  { not: /\b(?:begin|begins|began|begun|starts?) (?:again|anew)\b/i, but: 'restart, resume' },
  {
    not: /\b(?:nobody|somebody|whoever|whosoever|anybody|those who|one who|he who|they who|someone|no one)\b/i,
    but: 'a client, the caller, no listener',
  },
  { not: /\b(?:is|are|was|were|be|goes|go|went|going|has gone) away\b/i, but: 'unavailable, disconnected' },
  { not: /\b(?:is|are|was|were|has|have|had|be) gone\b/, but: 'deleted, missing, disconnected' },
  {
    not: /(?<!\b(?:what|who|which|where|how) )\b(?:is|are|was|were|be|been) (?:not |no longer |already |still |always |also |really |never |all )?there\b(?! (?:is|are|was|may|can)\b)(?!fore)/,
    but: 'exists, is connected; is missing',
  },
  { not: /\blate words?\b/i, but: 'a stale message' },
  { not: /\bunder ?way\b/i, but: 'in flight, running' },
  {
    not: /(?<!\b(?:database|server|system|machine|node|processor|process|core) )\b(?:is|are|was|were|be|been|too|while|keeps?|kept|stays?) busy\b|\bbusy (?:slots?|connections?|sockets?)\b/i,
    but: 'in use, in flight, under load',
  },
  {
    not: /\b(?:its|their|fair|equal|whose|own) shares?\b(?! (?:of|with|a|the)\b)|\bshares? of (?:the|a|its|their|that|each) (?:limit|quota|pool)\b/i,
    but: 'quota, slot',
  },
  {
    not: /\b(?:a|its|their|the|his|whose|next|another|each|every|one's) turns?\b(?! (?:on|off|into|it|to)\b)|\btakes? turns\b/i,
    but: 'slot, lock, position in the queue',
  },
  { not: /\b(?:im)?patien(?:t|ce|tly)\b/i, but: 'grace period, timeout' },
  {
    not: /\b(?:no|makes?|making|leaves?|leaving|enough|more|free|has|have|is|there's|without) room\b(?! \p{Ll}+s\b)/iu,
    but: 'capacity, area, space',
  },
  { not: /\b(?:doubt(?:s|ed|ful|ing)?|suspect(?:s|ed)?)\b/i, but: 'invalidate, changed, uncertain' },
  { not: /\b(?:seen|sees|see) off\b|\bfarewells?\b|\bdisown\w*|\bunwanted\b/i, but: 'drain, disconnect' },
  {
    not: /(?<!\b(?:falls?|fell|fallen|falling|lags?|lagging|left|leaves?|leaving|far|stays?|staying|remains?|how far|bytes|seconds|minutes|versions?|changes|commits|events|write|it|them|one) )(?<!write-)\bbehind\b(?! (?:(?:a|an|the|its|your|our|their|one|another|any|several|some|such a|every|each) )?(?:[\p{L}'-]+ ){0,2}(?:prox(?:y|ies)|poolers?|balancers?|gateways?|CDNs?|firewalls?|NATs?|tunnels?|hops?|reverse|ingress|caches?|login|password|authentication|scenes)\b)(?! (?:¤|\p{Lu}))/u,
    but: 'after; below; in addition to',
  },
  {
    not: /(?<!\b(?:in|took|takes?|taking|taken|decimal|geographic) )(?<!\bin (?:the|its|their|his|first|second|another's|the first|the second) )\b(?:a|the|its|their|this|that|same|each|every|one|another|which|no|first|last|next|other|right|wrong|whose|what|two|three|of|by) places?\b(?! of (?:work|birth|worship))/i,
    but: 'position, offset, slot, location',
  },
  {
    not: /\b(?:creates|inserts|requests|writes|callers|deliveries) (?:that )?(?:are |is |were )?joined\b|\bjoined (?:creates?|inserts?|requests?|writes?)\b/i,
    but: 'merged, multi-row',
  },
  { not: /\bmust touch\b/i, but: 'require row' },
  { not: /\bsequels?\b/i, but: 'next action' },
  { not: /\bsettl(?:e|es|ed|ing)\b(?=.*\bepochs?\b)|\bepochs?\b.*\bsettl(?:e|es|ed|ing)\b/i, but: 'rebase' },
  { not: /\baccompan(?:y|ies|ied|ying|iment)\b|\bcompanions?\b/i, but: 'attach, hooks' },
  { not: /\bcannot be asked\b/i, but: 'evaluation failed, request could not be built' },
  {
    not: /\blook(?:s|ed|ing)?\b(?!-)(?! (?:up|like|as if|alike|the same|\p{Ll}+ up)\b)/iu,
    but: 'poll, read, inspect, check',
  },
  { not: /\bask(?:s|ed|ing)? (?:whether|if)\b/i, but: 'check, validate' },
  {
    not: /\bask(?:s|ed|ing)?\b(?! (?:whether|if|your|an administrator|the administrator|the user|them to|for (?:consent|permission|confirmation))\b)/i,
    but: 'request, query, require, prompt',
  },
  { not: /\bquestions?\b(?! mark)(?<!(?:in|indirect) questions?)/i, but: 'query, request, check' },
  { not: /\bstands?\b(?! (?:for|out|alone|in for)\b)(?!-)|\bstood\b/i, but: 'is' },
  { not: /\bat (?:the|its|their|every|each|a|first) start\b(?! of\b)/i, but: 'at startup, at boot' },
  {
    not: /\banswer(?:s|ed|ing)?\b(?<!\b(?:DNS|resolver|resolver's) answers?)/i,
    but: 'response, returns, responds with',
    // Support answers tickets.
    unless: /\bsupport\b|\btickets?\b/i,
  },
  {
    not: /\b(?:is|are|be|not|only) taken\b(?! (?:from|by|over|up|out|off|into|care|together|as|away|back|down|apart|on|at|before|after|when|in|with|to|for|literally)\b)/i,
    but: 'accepted',
  },
  { not: /\bof one's own\b|\bone's own\b/i, but: 'own, custom' },
  { not: /\bdear(?:er|est)?\b/i, but: 'expensive, costly' },
  { not: /\bgiv(?:e|es|en|ing) (?:\p{L}+ ){0,3}back\b/iu, but: 'return, release' },
  { not: /^Of (?!course\b)|^To (?:them|it|these|those|him) belong/, but: 'the subject first (no inversion)' },
]

/** Lists the private words of a sentence, with their replacements. */
export function checkVocabulary(plain: string, file = ''): string[] {
  return vocabulary.flatMap(({ not, but, unless }) => {
    const match = not.exec(plain)
    return match === null || unless?.test(`${file} ${plain}`) === true ? [] : [`"${match[0].trim()}": ${but}`]
  })
}
