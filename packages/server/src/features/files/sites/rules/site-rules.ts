import { type HeaderRule, headersFile, parseHeaders } from './headers.ts'
import { RedirectTable } from './redirect-table.ts'
import { parseRedirects, redirectsFile } from './redirects.ts'
import { maxRuleFileBytes, type RuleFault } from './rule-file.ts'

/** Files that say how a site is served; they are not served themselves. */
export const ruleFiles: readonly string[] = [redirectsFile, headersFile]

export interface SiteRules {
  /** Before the files of the site. */
  readonly forced: RedirectTable
  /** Where the site has no file. */
  readonly redirects: RedirectTable
  readonly headers: readonly HeaderRule[]
}

/** What a deploy says in one of its rule files. */
export interface RuleFile {
  readonly path: string
  readonly bytes: Buffer
}

/** The rules of a deploy without its faults, which its promotion refuses. */
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
