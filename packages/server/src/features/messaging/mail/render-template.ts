import { mailErrors } from './errors.ts'
import { type HtmlPlaceholder, subjectLimit, type Template } from './parse-template.ts'
import { toPlainText } from './plain-text.ts'

/** Values by placeholder name. */
export type Variables = Readonly<Record<string, string>>

/** Mail without its recipient. */
export interface RenderedMail {
  readonly subject: string
  readonly html: string
  /** Text of the HTML, for readers that show no HTML. */
  readonly text: string
}

/**
 * Maximum length of a rendered part. A few placeholders could multiply a long value beyond the limits of a
 * mail server.
 */
const renderedLimit = 1_000_000

/** Renders a template. @throws AppError template_render_error */
export function renderTemplate(template: Template, variables: Variables): RenderedMail {
  const subject = fill('subject', template.subject, subjectLimit, ({ name }) =>
    plainLine(requireValue(variables, name)),
  )
  const html = fill('html', template.html, renderedLimit, (placeholder) =>
    escapeValue(placeholder, printable(requireValue(variables, placeholder.name))),
  )
  return { subject: plainLine(subject).trim(), html, text: toPlainText(html) }
}

function fill<Part extends object>(
  part: string,
  pieces: readonly (string | Part)[],
  limit: number,
  write: (placeholder: Part) => string,
): string {
  let filled = ''
  for (const piece of pieces) {
    filled += typeof piece === 'string' ? piece : write(piece)
    if (filled.length > limit) {
      throw mailErrors.templateRenderError(`the ${part} would exceed ${limit} characters`)
    }
  }
  return filled
}

function requireValue(variables: Variables, name: string): string {
  const value = Object.hasOwn(variables, name) ? variables[name] : undefined
  if (value === undefined) throw mailErrors.templateRenderError(`no value for {{.${name}}}`)
  return value
}

/** Returns the text in one line, as a header needs it. */
function plainLine(text: string): string {
  return text.toWellFormed().replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
}

/** Returns the text without the characters that HTML cannot carry. */
function printable(text: string): string {
  return text.toWellFormed().replace(/[^\P{Cc}\t\n\r]/gu, '')
}

function escapeValue({ name, position }: HtmlPlaceholder, value: string): string {
  if (position.isStart && isActiveLink(position.attribute, value)) {
    throw mailErrors.templateRenderError(`the value of {{.${name}}} is no address to link to`)
  }
  if (position.kind !== 'unquoted') return escapeCharacters(value, /[&<>"']/g)
  // Without quotes, an empty value would capture the next attribute.
  if (position.isStart && value === '') {
    throw mailErrors.templateRenderError(`{{.${name}}} is empty: put quotes around it`)
  }
  return escapeCharacters(value, /[&<>"'`=\s]/g)
}

const named: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' }

function escapeCharacters(value: string, unsafe: RegExp): string {
  return value.replace(unsafe, (character) => named[character] ?? `&#${character.charCodeAt(0)};`)
}

const linkAttributes = new Set(['href', 'xlink:href', 'src', 'action', 'formaction', 'background', 'poster'])

/** Returns whether following the value would run code. Readers ignore blanks and control characters in the scheme. */
function isActiveLink(attribute: string, value: string): boolean {
  if (!linkAttributes.has(attribute)) return false
  const bare = value.replace(/[\p{Cc}\p{Z}]/gu, '')
  return /^(?:javascript|vbscript|data(?!:image\/(?:png|gif|jpeg|webp)[;,])):/i.test(bare)
}
