import { mailErrors } from './errors.ts'
import { createHtmlScanner, type HtmlPosition } from './html-scanner.ts'

/** Maximum length of a subject in characters. */
export const subjectLimit = 1000
export const htmlLimit = 256_000
/** Maximum length of a text part that was not made from HTML. */
export const textLimit = htmlLimit

/**
 * Maximum number of tags. Converting HTML to text takes the square of their depth. A large newsletter has
 * about 5,000.
 */
const tagLimit = 10_000

/** Unparsed template. */
export interface TemplateSource {
  readonly subjectTemplate: string
  readonly htmlTemplate: string
}

/** Parsed template. */
export interface Template {
  readonly subject: readonly (string | Placeholder)[]
  readonly html: readonly (string | HtmlPlaceholder)[]
  /** Names of the placeholders, each once. */
  readonly variables: readonly string[]
}

export interface Placeholder {
  readonly name: string
}

export interface HtmlPlaceholder extends Placeholder {
  readonly position: HtmlPosition
}

/** Parses a template. @throws AppError template_too_large, template_parse_error */
export function parseTemplate({ subjectTemplate, htmlTemplate }: TemplateSource): Template {
  requireLength('subject', subjectTemplate, subjectLimit)
  requireLength('html', htmlTemplate, htmlLimit)
  const subject = split('subject', subjectTemplate)
  const html = positionPlaceholders(split('html', htmlTemplate))
  const names = [...subject, ...html].flatMap((part) => (typeof part === 'string' ? [] : [part.name]))
  return { subject, html, variables: [...new Set(names)] }
}

/** Rejects HTML without placeholders that is too large to convert to text. @throws AppError template_too_large */
export function requireHtmlSize(html: string): void {
  requireLength('html', html, htmlLimit)
  requireTags(countTags(html))
}

/** Returns whether HTML is small enough to convert to text. */
export function isConvertible(html: string): boolean {
  return html.length <= htmlLimit && countTags(html) <= tagLimit
}

function countTags(html: string): number {
  const scanner = createHtmlScanner()
  scanner.read(html)
  return scanner.tags
}

/** Rejects a part that is too long. @throws AppError template_too_large */
export function requireLength(part: string, text: string, limit: number): void {
  if (text.length <= limit) return
  // One visible character may be two code units of the text.
  if (text.length <= 2 * limit && [...text].length <= limit) return
  throw mailErrors.templateTooLarge(`${part} exceeds ${limit} characters`)
}

const placeholder = /\{\{[ \t\r\n]*\.([\p{L}_][\p{L}\p{N}_]*)[ \t\r\n]*\}\}/uy

/** Splits a text in one pass. Each placeholder is matched where it begins, and the first malformed one is an error. */
function split(part: string, text: string): (string | Placeholder)[] {
  if (!text.isWellFormed() || text.includes('\0')) {
    throw mailErrors.templateParseError(`${part}: not valid Unicode text`)
  }
  const parts: (string | Placeholder)[] = []
  let end = 0
  for (let start = text.indexOf('{{'); start !== -1; start = text.indexOf('{{', end)) {
    placeholder.lastIndex = start
    const [whole, name] = placeholder.exec(text) ?? []
    if (whole === undefined || name === undefined) {
      const found = JSON.stringify(text.slice(start, start + 20))
      throw mailErrors.templateParseError(
        `${part}: expected a placeholder such as {{.Name}} at character ${start + 1}, found ${found}`,
      )
    }
    if (start > end) parts.push(text.slice(end, start))
    parts.push({ name })
    end = start + whole.length
  }
  if (end < text.length) parts.push(text.slice(end))
  return parts
}

function positionPlaceholders(parts: readonly (string | Placeholder)[]): (string | HtmlPlaceholder)[] {
  const scanner = createHtmlScanner()
  const positioned = parts.map((part) => {
    if (typeof part === 'string') {
      scanner.read(part)
      return part
    }
    const position = scanner.position()
    if (position.kind === 'markup' || /^on/.test(position.attribute)) {
      throw mailErrors.templateParseError(
        `html: {{.${part.name}}} may stand in text or in the value of an attribute, not in a tag, a script or a style sheet`,
      )
    }
    return { ...part, position }
  })
  requireTags(scanner.tags)
  return positioned
}

function requireTags(tags: number): void {
  if (tags > tagLimit) throw mailErrors.templateTooLarge(`html exceeds ${tagLimit} tags`)
}
