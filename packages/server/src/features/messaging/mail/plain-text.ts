import { createRequire } from 'node:module'
import type { HtmlToTextOptions } from 'html-to-text'
import { isConvertible } from './parse-template.ts'

const require = createRequire(import.meta.url)

/** Maximum depth of nesting. Readable HTML is not nested deeper, and the conversion calls itself for each level. */
const deepest = 200

const options: HtmlToTextOptions = {
  wordwrap: false,
  limits: { maxDepth: deepest },
  selectors: [
    // Brackets would stick to an address that is copied or made clickable.
    { selector: 'a', options: { linkBrackets: false, hideLinkHrefIfSameAsText: true } },
    { selector: 'img', format: 'skip' },
    ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6'].map((selector) => ({ selector, options: { uppercase: false } })),
  ],
}

let convert: ((html: string) => string) | undefined

/** Returns the text part of a mail: the text of the HTML, with the addresses of links after their words. */
export function toPlainText(html: string): string {
  convert ??= loadConverter()
  return convert(html)
}

/** Returns the text of mail from an untrusted sender. HTML that is too large to convert only loses its tags. */
export function textOfHtml(html: string): string {
  return isConvertible(html) ? toPlainText(html) : html.replace(/<[^<>]*>/g, ' ')
}

/** Loads the converter with the first mail. */
function loadConverter(): (html: string) => string {
  const { compile }: typeof import('html-to-text') = require('html-to-text')
  return compile(options)
}
