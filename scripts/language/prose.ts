/** Kind of declaration below a docstring; `file` is the text about a whole file. */
export type Subject = 'function' | 'component' | 'type' | 'boolean' | 'value' | 'callback' | 'file'

/**
 * Source of a paragraph: a docstring, another comment, a page, the title of a test or a text of the product. Only the vocabulary
 * applies to a `message` of the API.
 */
export type Medium =
  | 'docstring'
  | 'comment'
  | 'page'
  | 'heading'
  | 'suite'
  | 'test'
  | 'text'
  | 'label'
  | 'message'

/** Paragraph of prose with its position in a file. */
export interface Paragraph {
  readonly file: string
  readonly medium: Medium
  /** Declaration of a docstring's first paragraph. */
  readonly subject?: Subject
  readonly lines: readonly Line[]
}

export interface Line {
  readonly number: number
  readonly text: string
}

/** Name that a source declares. */
export interface Name {
  readonly file: string
  readonly line: number
  readonly name: string
  readonly kind: 'type' | 'value'
}

/** Prose and names of a file. */
export interface Extract {
  readonly paragraphs: readonly Paragraph[]
  readonly names: readonly Name[]
}

/** Violation of a rule. */
export interface Finding {
  readonly file: string
  readonly line: number
  readonly rule: string
  /** Sentence or name that breaks the rule; exceptions refer to it. */
  readonly subject: string
  readonly problem: string
}

const tag = /^@\w+\s/

/** Returns true if a docstring begins with a tag, which no rule for first words concerns. */
export function beginsWithTag(lines: readonly Line[]): boolean {
  return tag.test(lines.find(({ text }) => text.trim() !== '')?.text.trim() ?? '')
}

/** Splits lines into paragraphs at blank lines, list items and tags such as `@param`. */
export function splitParagraphs(lines: readonly Line[]): Line[][] {
  const paragraphs: Line[][] = []
  let open = false
  let fenced = false
  for (const line of lines) {
    const text = line.text.trim()
    if (text.startsWith('```')) {
      fenced = !fenced
      open = false
      continue
    }
    if (fenced || text === '') {
      open = false
      continue
    }
    const item = /^(?:[-*+]|\d+[.)]|@\w+)\s+/.exec(text)
    if (item !== null || !open) paragraphs.push([])
    open = true
    paragraphs.at(-1)?.push({ number: line.number, text: item === null ? text : text.slice(item[0].length) })
  }
  return paragraphs
}
