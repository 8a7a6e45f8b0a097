import { matchPattern, type PathPattern, parsePattern } from './pattern.ts'
import { findLineProblem, type RuleFault, type RuleLine, readRuleLines } from './rule-file.ts'

export const headersFile = '_headers'

/** Path of `_headers` with the header lines below it. */
export interface HeaderRule {
  readonly pattern: PathPattern
  readonly headers: Map<string, string>
}

const maxRules = 100
const maxHeaders = 50

/**
 * Headers that a site cannot set. They are those of the connection (RFC 9110 §7.6.1), those of the message itself, and
 * cookies, which would reach other sites of the same parent domain.
 */
const reserved = new Set([
  ...['connection', 'keep-alive', 'proxy-authenticate', 'proxy-authorization', 'proxy-connection'],
  ...['te', 'trailer', 'transfer-encoding', 'upgrade', 'host'],
  ...['content-length', 'content-encoding', 'content-range', 'accept-ranges', 'etag', 'vary', 'age', 'date'],
  ...['location', 'set-cookie', 'set-cookie2', 'x-request-id', 'www-authenticate', 'basic-auth'],
])

/** Parses the common format of static hosts: a path on a line of its own, followed by indented lines `Name: value`. */
export function parseHeaders(text: string): { rules: HeaderRule[]; faults: RuleFault[] } {
  const rules: HeaderRule[] = []
  const faults: RuleFault[] = []
  /** Undefined before the first path, or after an invalid one. */
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

/** Adds a header unless it is invalid. A repeated name extends the list (RFC 9110 §5.3). */
function addHeader({ text }: RuleLine, headers = new Map<string, string>()): string | undefined {
  const [, original = '', value = ''] = /^\s+([^:\s]+):\s*(\S.*)$/.exec(text) ?? []
  const name = original.toLowerCase()
  if (!/^[!#$%&'*+.^_`|~0-9a-z-]+$/.test(name)) return 'expected a header as "Name: value"'
  if (reserved.has(name)) return `the header ${original} cannot be set`
  if (/[^\t\x20-\x7e]/.test(value)) return 'the value of a header must be ASCII'
  if (headers.size === maxHeaders) return `a path has at most ${maxHeaders} headers`
  const before = headers.get(name)
  headers.set(name, before === undefined ? value : `${before}, ${value}`)
  return undefined
}

/** Returns the headers for a path. If several rules set a header, the last one applies. */
export function headersFor(rules: readonly HeaderRule[], path: string): Readonly<Record<string, string>> {
  const found = rules.filter(({ pattern }) => matchPattern(pattern, path) !== undefined)
  return Object.fromEntries(found.flatMap(({ headers }) => [...headers]))
}
