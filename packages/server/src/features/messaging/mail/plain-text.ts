import { createRequire } from 'node:module'
import type { HtmlToTextOptions } from 'html-to-text'
import { isConvertible } from './parse-template.ts'

const require = createRequire(import.meta.url)

/** Nothing a person reads is nested deeper; the conversion calls itself for each level. */
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

/** The text part of a mail: what the HTML says, with the addresses of links behind their words. */
export function toPlainText(html: string): string {
  convert ??= loadConverter()
  return convert(html)
}

/** Of mail that anyone may have written: what is too large to be converted loses its tags alone. */
export function textOfHtml(html: string): string {
  return isConvertible(html) ? toPlainText(html) : html.replace(/<[^<>]*>/g, ' ')
}

/** Read with the first mail. */
function loadConverter(): (html: string) => string {
  const { compile }: typeof import('html-to-text') = require('html-to-text')
  return compile(options)
}
