import { type HeaderRule, headersFile, parseHeaders } from './headers.ts'
import { RedirectTable } from './redirect-table.ts'
import { parseRedirects, redirectsFile } from './redirects.ts'
import { maxRuleFileBytes, type RuleFault } from './rule-file.ts'

/** Names of the files with rules for serving. They are not served themselves. */
export const ruleFiles: readonly string[] = [redirectsFile, headersFile]

export interface SiteRules {
  /** Rules that apply before the files of the site. */
  readonly forced: RedirectTable
  /** Rules that apply to paths without a file. */
  readonly redirects: RedirectTable
  readonly headers: readonly HeaderRule[]
}

/** Rule file of a deploy. */
export interface RuleFile {
  readonly path: string
  readonly bytes: Buffer
}

/** Parses the valid rules of a deploy and lists its faults. A promotion rejects a deploy with faults. */
export function parseRules(files: readonly RuleFile[]): { rules: SiteRules; faults: RuleFault[] } {
  const large = files.filter(({ bytes }) => bytes.length > maxRuleFileBytes)
  const textOf = (name: string) => {
    const file = files.find(({ path }) => path === name)
    return file === undefined || large.includes(file) ? '' : file.bytes.toString()
  }
  const redirects = parseRedirects(textOf(redirectsFile))
  const headers = parseHeaders(textOf(headersFile))
  return {
    rules: {
      forced: new RedirectTable(redirects.rules.filter(({ isForced }) => isForced)),
      redirects: new RedirectTable(redirects.rules.filter(({ isForced }) => !isForced)),
      headers: headers.rules,
    },
    faults: [
      ...large.map(({ path }) => ({
        file: path,
        line: 1,
        problem: `the file has at most ${maxRuleFileBytes} bytes`,
      })),
      ...redirects.faults,
      ...headers.faults,
    ],
  }
}
