import type { Paragraph } from './prose.ts'

/** Character in place of code, addresses and quotations. */
export const masked = '¤'

export interface Sentence {
  /** Sentence as it is written. */
  readonly text: string
  /** Sentence with code, addresses and quotations masked. The text of links remains, for the vocabulary. */
  readonly plain: string
  /** Sentence with links masked, too: their text counts neither as words nor as clauses. */
  readonly bare: string
  readonly line: number
}

/** Abbreviations whose period ends no sentence. */
const abbreviation = /(?:^|[\s(])(?:e\.g|i\.e|etc|vs|cf|approx|ca|resp|incl|no|fig|sec)\.$/i

/** Splits a paragraph into sentences. A period inside code or before a lower-case letter ends none. */
export function splitSentences(paragraph: Paragraph): Sentence[] {
  const text = paragraph.lines.map((line) => line.text).join(' ')
  const sentences: Sentence[] = []
  const plain = maskCode(text)
  let start = 0
  for (const end of [...sentenceEnds(plain), plain.length]) {
    const part = text.slice(start, end)
    if (/\p{L}/u.test(part)) {
      const lead = part.length - part.trimStart().length
      const plainPart = plain.slice(start, end).trim()
      sentences.push({
        text: part.trim(),
        plain: shorten(plainPart.replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')),
        bare: shorten(plainPart.replaceAll(/!?\[[^\]]*\](?:\([^)]*\)|\[[^\]]*\])/g, masked)),
        line: lineAt(paragraph, start + lead),
      })
    }
    start = end
  }
  return sentences
}

/** Counts words. Numbers, code, addresses and links are none. */
export function countWords(bare: string): number {
  return bare.split(/[\s–—…/]+/).filter((word) => /\p{L}/u.test(word.replaceAll(masked, ''))).length
}

/** Masks code, addresses, quotations and markup. The length stays, so that positions do. */
function maskCode(text: string): string {
  return text
    .replaceAll(/(`+)[^`].*?\1/g, (code) => masked.repeat(code.length))
    .replaceAll(/\{@link [^}]*\}/g, (link) => masked.repeat(link.length))
    .replaceAll(/<!--.*?-->/g, (comment) => ' '.repeat(comment.length))
    .replaceAll(/(?<!\]\()\bhttps?:\/\/[^\s)>\]]*[^\s)>\].,;:]/g, (address) => masked.repeat(address.length))
    .replaceAll(/<\/?[a-z][^>]*>/g, (tag) => masked.repeat(tag.length))
    .replaceAll(/\*\*|__/g, '  ')
    .replaceAll(/"[^"]{1,80}"/g, (quotation) => masked.repeat(quotation.length))
}

function shorten(plain: string): string {
  return plain.replaceAll(/¤+/g, masked).replaceAll(/\s+/g, ' ').trim()
}

function* sentenceEnds(plain: string): Generator<number> {
  for (const match of plain.matchAll(/[.!?]["'”)\]*]*\s+(?=[^\s\p{Ll}])/gu)) {
    const before = plain.slice(0, match.index + 1)
    if (!abbreviation.test(before)) yield match.index + match[0].length
  }
}

function lineAt(paragraph: Paragraph, offset: number): number {
  let position = 0
  let number = 0
  for (const line of paragraph.lines) {
    number = line.number
    position += line.text.length + 1
    if (offset < position) break
  }
  return number
}
