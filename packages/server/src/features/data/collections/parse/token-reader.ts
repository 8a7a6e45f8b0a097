import { filterFault } from './filter-fault.ts'
import type { Keyword, Token } from './tokens.ts'

/** Reader of one token after the other. After the last token it returns the end again and again. */
export class TokenReader {
  readonly #tokens: readonly Token[]
  #next = 0

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens
  }

  peek(ahead = 0): Token {
    const token = this.#tokens[Math.min(this.#next + ahead, this.#tokens.length - 1)]
    if (token === undefined) throw new Error('no end token')
    return token
  }

  take(): Token {
    const token = this.peek()
    if (token.kind !== 'end') this.#next += 1
    return token
  }

  takeKeyword(keyword: Keyword): boolean {
    const token = this.peek()
    if (token.kind !== 'keyword' || token.keyword !== keyword) return false
    this.#next += 1
    return true
  }

  /** Consumes a word of the grammar that is a name elsewhere. */
  takeWord(word: string): boolean {
    const token = this.peek()
    if (token.kind !== 'name' || !token.isBare || token.name.toLowerCase() !== word) return false
    this.#next += 1
    return true
  }
}

export function unexpected(token: Token): Error {
  return token.kind === 'end'
    ? filterFault(token.position, 'unexpected end of filter expression')
    : filterFault(token.position, `unexpected token at position ${token.position}: ${token.text}`)
}
