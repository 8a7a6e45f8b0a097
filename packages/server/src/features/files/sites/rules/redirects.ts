import { namesOf, type PathPattern, type PathValues, parsePattern } from './pattern.ts'
import { findLineProblem, type RuleFault, type RuleLine, readRuleLines } from './rule-file.ts'

export const redirectsFile = '_redirects'

const redirectStatuses = [301, 302, 303, 307, 308] as const
export type RedirectStatus = (typeof redirectStatuses)[number]

/** Rule of a line in `_redirects`. */
export interface RedirectRule {
  readonly pattern: PathPattern
  /** Path, or http or https URL, with `:name` for values of the pattern. */
  readonly target: string
  /** Statuses 200 and 404 return the file of the target. */
  readonly status: RedirectStatus | 200 | 404
  /** True if the rule also applies to paths with a file. */
  readonly isForced: boolean
}

const maxRules = 1000

/** Parses the common format of static hosts: `from to [status][!]`, one rule per line. The first match applies. */
export function parseRedirects(text: string): { rules: RedirectRule[]; faults: RuleFault[] } {
  const rules: RedirectRule[] = []
  const faults: RuleFault[] = []
  for (const line of readRuleLines(text)) {
    const rule = rules.length === maxRules ? `a site has at most ${maxRules} redirects` : parseRule(line)
    if (typeof rule !== 'string') rules.push(rule)
    else faults.push({ file: redirectsFile, line: line.number, problem: rule })
    if (rules.length === maxRules && faults.length > 0) break
  }
  return { rules, faults }
}

function parseRule(line: RuleLine): RedirectRule | string {
  const problem = findLineProblem(line)
  if (problem !== undefined) return problem
  const [from = '', target, code = '301', ...others] = line.text.trim().split(/\s+/)
  if (target === undefined) return 'expected a path, a target, and perhaps a status'
  if (/^[\w-]+=/.test(target)) return 'conditions on the query are not supported'
  if (others.length > 0) return 'conditions after the status are not supported'
  const pattern = parsePattern(from)
  if (typeof pattern === 'string') return pattern
  if (pattern.splat !== undefined && pattern.splat.before + pattern.splat.after !== '') {
    return 'the * of a redirect must be a whole segment'
  }
  const status = readStatus(code)
  if (status === undefined) return 'the status must be 200, 301, 302, 303, 307, 308 or 404, perhaps with a !'
  return (
    findTargetProblem(target, pattern, status) ?? { pattern, target, status, isForced: code.endsWith('!') }
  )
}

function readStatus(text: string): RedirectRule['status'] | undefined {
  return [...redirectStatuses, 200 as const, 404 as const].find(
    (status) => text.replace(/!$/, '') === `${status}`,
  )
}

function findTargetProblem(
  target: string,
  pattern: PathPattern,
  status: RedirectRule['status'],
): string | undefined {
  const isPath = /^\/(?![/\\])/.test(target)
  // A placeholder in the host would turn into an invalid port, so the host is fixed.
  const origin = /^https?:\/\/[^/?#\\]+/i.exec(target)?.[0] ?? ''
  if (!isPath && (URL.parse(origin) === null || origin.includes('@'))) {
    return 'the target must be a path that begins with one slash, or an http or https URL'
  }
  if (status === 200 || status === 404) {
    if (!isPath) return `a rule with the status ${status} needs a path of the site as its target`
    if (/[?#]/.test(target))
      return `the target of a rule with the status ${status} has no query and no fragment`
    if (typeof parsePattern(target.replace(/:[a-z_]\w*/gi, 'x')) === 'string') {
      return 'the target is not percent-encoded UTF-8'
    }
  }
  const known = namesOf(pattern)
  const unknown = [...target.slice(origin.length).matchAll(names)].find(([, name = '']) => !known.has(name))
  return unknown === undefined ? undefined : `${unknown[0]} is not in the path of the rule`
}

/** Placeholder pattern of targets. */
const names = /:([a-z_]\w*)/gi

/** Returns the location of a redirect. */
export function locationOf({ target }: RedirectRule, values: PathValues): string {
  const [origin = ''] = /^(https?:\/\/[^/?#]+)?/i.exec(target) ?? []
  const rest = target
    .slice(origin.length)
    .replace(names, (_, name: string) =>
      (values.get(name) ?? '').split('/').map(encodeURIComponent).join('/'),
    )
    // A header is ASCII.
    .replace(/[^\x21-\x7e]+/g, encodeURIComponent)
  // An empty splat may leave two leading slashes, after which a host would follow (RFC 3986 §4.2).
  return origin === '' ? rest.replace(/^[/\\]{2,}/, '/') : new URL(origin).origin + rest
}

/** Returns the path of the file that a rewrite serves. */
export function fileOf({ target }: RedirectRule, values: PathValues): string {
  return target
    .slice(1)
    .split(/(:[a-z_]\w*)/i)
    .map((part) => (part.startsWith(':') ? (values.get(part.slice(1)) ?? '') : decodeURIComponent(part)))
    .join('')
    .normalize('NFC')
}
