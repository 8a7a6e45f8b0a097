import { type DocumentNode, Lexer, parse, Source, syntaxError, TokenKind } from 'graphql'

/** Lexical tokens of a document: parsing takes a microsecond for each. */
const tokenLimit = 20_000
/** Levels of selections, lists, objects and types: parser and validation call themselves for each. */
const levelLimit = 200

const opening: ReadonlySet<TokenKind> = new Set([TokenKind.BRACE_L, TokenKind.BRACKET_L, TokenKind.PAREN_L])
const closing: ReadonlySet<TokenKind> = new Set([TokenKind.BRACE_R, TokenKind.BRACKET_R, TokenKind.PAREN_R])

/**
 * Parses the text of a document.
 *
 * @throws GraphQLError for text that is no document, or is too long or nested too deeply
 */
export function parseDocument(text: string): DocumentNode {
  const source = new Source(text)
  requireFewLevels(source)
  return parse(source, { maxTokens: tokenLimit })
}

function requireFewLevels(source: Source): void {
  const lexer = new Lexer(source)
  let levels = 0
  for (let count = 0; count < tokenLimit; count += 1) {
    const { kind, start } = lexer.advance()
    if (kind === TokenKind.EOF) return
    if (opening.has(kind)) levels += 1
    else if (closing.has(kind)) levels -= 1
    if (levels > levelLimit) {
      throw syntaxError(source, start, `Document is nested more than ${levelLimit} levels deep.`)
    }
  }
}
