import { compile, type FormatCallback } from 'html-to-text'

/** Content of HTML as a parser reads it. */
export interface HtmlReading {
  /** Elements in order with their attributes. */
  readonly elements: readonly {
    readonly name: string
    readonly attributes: Readonly<Record<string, string>>
  }[]
  readonly text: string
}

/** Formats of elements that the converter has. */
const formats = [
  ...['anchor', 'block', 'blockquote', 'heading', 'horizontalLine', 'image', 'inline', 'lineBreak'],
  ...['orderedList', 'paragraph', 'pre', 'table', 'unorderedList', 'wbr'],
]

/** Reads HTML with a real parser, the converter to text, and records each of its steps. */
export function readHtml(html: string): HtmlReading {
  const elements: { name: string; attributes: Record<string, string> }[] = []
  const record: FormatCallback = (element, walk, builder) => {
    elements.push({ name: String(element.name), attributes: { ...element.attribs } })
    walk(element.children, builder)
  }
  const convert = compile({
    wordwrap: false,
    baseElements: { selectors: [] },
    formatters: Object.fromEntries(formats.map((name) => [name, record])),
  })
  const text = convert(html)
  return { elements, text }
}

/** Returns only the names of elements and attributes. */
export function structureOf({ elements }: HtmlReading): string[] {
  return elements.map(({ name, attributes }) => [name, ...Object.keys(attributes)].join(' '))
}
