/** Mark of an omission in a page: any text inside a string or line, any value, further members or lines. */
const ellipsis = '…'

/**
 * Returns the difference between the JSON of a page and the printed one, or undefined if there is none. A page may show
 * only the last of several values.
 */
export function compareJson(shown: string, printed: string): string | undefined {
  const expected = splitJson(completeJson(shown)).map((text) => JSON.parse(text))
  const actual = splitJson(printed).map((text) => JSON.parse(text))
  if (expected.length === 0) return 'the page shows no JSON'
  if (actual.length < expected.length) return `${expected.length} values shown, ${actual.length} printed`
  return expected
    .map((value, index) => differ(value, actual[actual.length - expected.length + index], '$'))
    .find((difference) => difference !== undefined)
}

/** Returns true if a text matches the page. Output of a running command may be the beginning of it. */
export function matchesText(shown: string, printed: string, stillRuns: boolean): boolean {
  const pattern = shown
    .split('\n')
    .map((line) =>
      line.trim() === ellipsis ? '(?:.*\n)*?' : `${line.split(ellipsis).map(escapePattern).join('.*')} *\n`,
    )
    .join('')
  return new RegExp(`^${pattern}${stillRuns ? '' : '$'}`).test(`${printed.trimEnd()}\n`)
}

function escapePattern(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}

/** Turns an ellipsis outside strings into JSON: a member of an object, an element of an array, or a value. */
function completeJson(text: string): string {
  const inside: string[] = []
  let previous = ''
  return [...text.matchAll(/"(?:[^"\\]|\\.)*"|[\s\S]/gu)]
    .map(([token]) => {
      if (token === '{' || token === '[') inside.push(token)
      if (token === '}' || token === ']') inside.pop()
      const isMember = inside.at(-1) === '{' && previous !== ':'
      if (token.trim() !== '') previous = token
      if (token !== ellipsis) return token
      return isMember ? `"${ellipsis}":"${ellipsis}"` : `"${ellipsis}"`
    })
    .join('')
}

/** Lists the objects and arrays in a text that may hold other words, too. */
function splitJson(text: string): string[] {
  const values: string[] = []
  let depth = 0
  let value = ''
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|[\s\S]/gu)) {
    if (token === '{' || token === '[') depth += 1
    if (depth > 0) value += token
    if ((token === '}' || token === ']') && depth > 0) {
      depth -= 1
      if (depth > 0) continue
      values.push(value)
      value = ''
    }
  }
  return values
}

function differ(expected: unknown, actual: unknown, path: string): string | undefined {
  if (expected === ellipsis) return actual === undefined ? `${path} is missing` : undefined
  if (typeof expected === 'string' && typeof actual === 'string') {
    const pattern = expected.split(ellipsis).map(escapePattern).join('[\\s\\S]*')
    return new RegExp(`^${pattern}$`).test(actual) ? undefined : describe(expected, actual, path)
  }
  if (Array.isArray(expected) && Array.isArray(actual)) return differArrays(expected, actual, path)
  if (isObject(expected) && isObject(actual)) return differObjects(expected, actual, path)
  return Object.is(expected, actual) ? undefined : describe(expected, actual, path)
}

function differArrays(expected: unknown[], actual: unknown[], path: string): string | undefined {
  const isOpen = expected.at(-1) === ellipsis && expected.length > 1
  const elements = isOpen ? expected.slice(0, -1) : expected
  if (isOpen ? actual.length < elements.length : actual.length !== elements.length) {
    return `${path} has ${actual.length} elements, shown are ${elements.length}`
  }
  return first(elements.map((element, index) => differ(element, actual[index], `${path}[${index}]`)))
}

function differObjects(
  expected: Record<string, unknown>,
  actual: Record<string, unknown>,
  path: string,
): string | undefined {
  const isOpen = ellipsis in expected
  const names = Object.keys(expected).filter((name) => name !== ellipsis)
  const unshown = Object.keys(actual).find((name) => !names.includes(name))
  if (!isOpen && unshown !== undefined) return `${path}.${unshown} is not shown`
  return first(names.map((name) => differ(expected[name], actual[name], `${path}.${name}`)))
}

function first(differences: (string | undefined)[]): string | undefined {
  return differences.find((difference) => difference !== undefined)
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

function describe(expected: unknown, actual: unknown, path: string): string {
  return `${path} is ${JSON.stringify(actual)}, shown is ${JSON.stringify(expected)}`
}
