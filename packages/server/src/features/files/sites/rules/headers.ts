import { matchPattern, type PathPattern, parsePattern } from './pattern.ts'
import { findLineProblem, type RuleFault, type RuleLine, readRuleLines } from './rule-file.ts'

export const headersFile = '_headers'

/** A path of `_headers` and the lines below it. */
export interface HeaderRule {
  readonly pattern: PathPattern
  readonly headers: Map<string, string>
}

const maxRules = 100
const maxHeaders = 50

/**
 * Headers that a site does not choose: those of the connection (RFC 9110 §7.6.1) and of the message itself, and cookies, which
 * other sites of the same parent domain would get.
 */
const refused = new Set([
  ...['connection', 'keep-alive', 'proxy-authenticate', 'proxy-authorization', 'proxy-connection'],
  ...['te', 'trailer', 'transfer-encoding', 'upgrade', 'host'],
  ...['content-length', 'content-encoding', 'content-range', 'accept-ranges', 'etag', 'vary', 'age', 'date'],
  ...['location', 'set-cookie', 'set-cookie2', 'x-request-id', 'www-authenticate', 'basic-auth'],
])

/** Reads the format that static hosts have in common: a path on a line of its own, and indented lines `Name: value` below it. */
export function parseHeaders(text: string): { rules: HeaderRule[]; faults: RuleFault[] } {
  const rules: HeaderRule[] = []
  const faults: RuleFault[] = []
  /** Undefined: no path yet, or one that is wrong. */
  let current: HeaderRule | undefined
  let hasPath = false
  for (const line of readRuleLines(text)) {
    let problem = findLineProblem(line)
    if (problem === undefined && /^\S/.test(line.text)) {
      const rule = parsePath(line, rules.length)
      hasPath = true
      current = typeof rule === 'string' ? undefined : rule
      if (typeof rule === 'string') problem = rule
      else rules.push(rule)
    } else if (problem === undefined) {
      problem = hasPath ? addHeader(line, current?.headers) : 'a header must stand below a path'
    }
    if (problem !== undefined) faults.push({ file: headersFile, line: line.number, problem })
  }
  return { rules, faults }
}

function parsePath({ text }: RuleLine, count: number): HeaderRule | string {
  if (count === maxRules) return `a site has headers for at most ${maxRules} paths`
  const pattern = parsePattern(text)
  return typeof pattern === 'string' ? pattern : { pattern, headers: new Map() }
}

/** Adds it unless something is wrong. The same name again adds to the list (RFC 9110 §5.3). */
function addHeader({ text }: RuleLine, headers = new Map<string, string>()): string | undefined {
  const [, given = '', value = ''] = /^\s+([^:\s]+):\s*(\S.*)$/.exec(text) ?? []
  const name = given.toLowerCase()
  if (!/^[!#$%&'*+.^_`|~0-9a-z-]+$/.test(name)) return 'expected a header as "Name: value"'
  if (refused.has(name)) return `the header ${given} cannot be set`
  if (/[^\t\x20-\x7e]/.test(value)) return 'the value of a header must be ASCII'
  if (headers.size === maxHeaders) return `a path has at most ${maxHeaders} headers`
  const before = headers.get(name)
  headers.set(name, before === undefined ? value : `${before}, ${value}`)
  return undefined
}

/** What a path is answered with; of several rules the later one counts for a header. */
export function headersFor(rules: readonly HeaderRule[], path: string): Readonly<Record<string, string>> {
  const found = rules.filter(({ pattern }) => matchPattern(pattern, path) !== undefined)
  return Object.fromEntries(found.flatMap(({ headers }) => [...headers]))
}
