/** Ranges and arrays as PostgreSQL prints and parses them. Pure. */

export interface RangeValue {
  readonly isEmpty: boolean
  /** Bounds; null if the range is unbounded. */
  readonly lower: string | null
  readonly upper: string | null
  readonly includesLower: boolean
  readonly includesUpper: boolean
}

const bound = String.raw`("(?:[^"\\]|\\.|"")*"|(?:[^",\\()[\]]|\\.)*)`
const range = new RegExp(String.raw`^\s*([[(])${bound},${bound}([\])])\s*$`, 's')

/** Parses a range. An empty text is a range without bounds. Returns undefined for anything else. */
export function parseRange(text: string): RangeValue | undefined {
  if (text.trim() === '') return { isEmpty: false, lower: null, upper: null, ...standard }
  if (text.trim().toLowerCase() === 'empty') return { isEmpty: true, lower: null, upper: null, ...standard }
  const [, open, lower = '', upper = '', close] = range.exec(text) ?? []
  if (open === undefined) return undefined
  return {
    isEmpty: false,
    lower: lower === '' ? null : unquote(lower),
    upper: upper === '' ? null : unquote(upper),
    includesLower: open === '[',
    includesUpper: close === ']',
  }
}

const standard = { includesLower: true, includesUpper: false }

export function formatRange({ isEmpty, lower, upper, includesLower, includesUpper }: RangeValue): string {
  if (isEmpty) return 'empty'
  const text = (value: string | null) => (value === null ? '' : quote(value, /[\s,"\\()[\]]/))
  return `${includesLower ? '[' : '('}${text(lower)},${text(upper)}${includesUpper ? ']' : ')'}`
}

const element = /\s*("(?:[^"\\]|\\.)*"|(?:[^",{}\\]|\\.)+)\s*(,|$)/sy

/** Parses an array of one dimension. Returns undefined for anything else. */
export function parseArray(text: string): readonly (string | null)[] | undefined {
  const inside = /^\s*\{(.*)\}\s*$/s.exec(text)?.[1]
  if (inside === undefined) return text.trim() === '' ? [] : undefined
  const elements: (string | null)[] = []
  element.lastIndex = 0
  while (element.lastIndex < inside.length) {
    const [, value = '', end] = element.exec(inside) ?? []
    if (end === undefined) return undefined
    elements.push(/^null\s*$/i.test(value) ? null : unquote(value.startsWith('"') ? value : value.trimEnd()))
    if (end === ',' && element.lastIndex === inside.length) return undefined
  }
  return elements
}

export function formatArray(elements: readonly (string | null)[]): string {
  const texts = elements.map((value) => (value === null ? 'NULL' : quote(value, /[\s,"\\{}]|^null$/i)))
  return `{${texts.join()}}`
}

function unquote(text: string): string {
  const inside = text.startsWith('"') ? text.slice(1, -1).replaceAll('""', '"') : text
  return inside.replace(/\\(.)/gs, '$1')
}

const quote = (text: string, special: RegExp) =>
  text === '' || special.test(text) ? `"${text.replace(/["\\]/g, '\\$&')}"` : text
