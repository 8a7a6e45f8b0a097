import { mailErrors } from './errors.ts'
import { type HtmlPlaceholder, subjectLimit, type Template } from './parse-template.ts'
import { toPlainText } from './plain-text.ts'

/** Values by the name of the placeholder. */
export type Variables = Readonly<Record<string, string>>

/** A mail without its recipient. */
export interface RenderedMail {
  readonly subject: string
  readonly html: string
  /** Text of the HTML, for readers that show no HTML. */
  readonly text: string
}

/** A few placeholders could multiply a long value beyond what a mail server takes. */
const renderedLimit = 1_000_000

/** @throws AppError template_render_error */
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

/** A header is one line. */
function plainLine(text: string): string {
  return text.toWellFormed().replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
}

/** Returns the text without the characters that HTML cannot carry. */
function printable(text: string): string {
  return text.toWellFormed().replace(/[^\P{Cc}\t\n\r]/gu, '')
}

function escapeValue({ name, place }: HtmlPlaceholder, value: string): string {
  if (place.isStart && isActiveLink(place.attribute, value)) {
    throw mailErrors.templateRenderError(`the value of {{.${name}}} is no address to link to`)
  }
  if (place.kind !== 'unquoted') return escapeCharacters(value, /[&<>"']/g)
  // Without quotes an empty value would take the next attribute for its own.
  if (place.isStart && value === '') {
    throw mailErrors.templateRenderError(`{{.${name}}} is empty: put quotes around it`)
  }
  return escapeCharacters(value, /[&<>"'`=\s]/g)
}

const named: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' }

function escapeCharacters(value: string, unsafe: RegExp): string {
  return value.replace(unsafe, (character) => named[character] ?? `&#${character.charCodeAt(0)};`)
}

const linkAttributes = new Set(['href', 'xlink:href', 'src', 'action', 'formaction', 'background', 'poster'])

/** Returns whether following the value would run something: readers ignore blanks and control characters in the scheme. */
function isActiveLink(attribute: string, value: string): boolean {
  if (!linkAttributes.has(attribute)) return false
  const bare = value.replace(/[\p{Cc}\p{Z}]/gu, '')
  return /^(?:javascript|vbscript|data(?!:image\/(?:png|gif|jpeg|webp)[;,])):/i.test(bare)
}
