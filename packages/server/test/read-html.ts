import { compile, type FormatCallback } from 'html-to-text'

/** What a reader of HTML makes of it. */
export interface HtmlReading {
  /** Elements in order with their attributes. */
  readonly elements: readonly {
    readonly name: string
    readonly attributes: Readonly<Record<string, string>>
  }[]
  readonly text: string
}

/** Every way the converter has to write an element. */
const formats = [
  ...['anchor', 'block', 'blockquote', 'heading', 'horizontalLine', 'image', 'inline', 'lineBreak'],
  ...['orderedList', 'paragraph', 'pre', 'table', 'unorderedList', 'wbr'],
]

/** Reads HTML with a real parser: that of the converter to text, whose every step is recorded. */
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

/** Names of elements and attributes alone. */
export function structureOf({ elements }: HtmlReading): string[] {
  return elements.map(({ name, attributes }) => [name, ...Object.keys(attributes)].join(' '))
}
