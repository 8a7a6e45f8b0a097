import { matchPattern, normalizePath, onlyPathOf, type PathValues } from './pattern.ts'
import type { RedirectRule } from './redirects.ts'

export interface RedirectMatch {
  readonly rule: RedirectRule
  readonly values: PathValues
}

interface RuleEntry {
  readonly rule: RedirectRule
  readonly position: number
}

const noValues: PathValues = new Map()

/** Redirect rules in order. A map finds rules for one exact path without a scan. */
export class RedirectTable {
  readonly #exact = new Map<string, RuleEntry>()
  readonly #patterns: RuleEntry[] = []

  constructor(rules: readonly RedirectRule[]) {
    for (const [position, rule] of rules.entries()) {
      const path = onlyPathOf(rule.pattern)
      if (path === undefined) this.#patterns.push({ rule, position })
      else if (!this.#exact.has(path)) this.#exact.set(path, { rule, position })
    }
  }

  /** Yields the matching rules in order. */
  *matches(path: string): Generator<RedirectMatch> {
    let exact = this.#exact.get(normalizePath(path))
    for (const { rule, position } of this.#patterns) {
      if (exact !== undefined && exact.position < position) {
        yield { rule: exact.rule, values: noValues }
        exact = undefined
      }
      const values = matchPattern(rule.pattern, path)
      if (values !== undefined) yield { rule, values }
    }
    if (exact !== undefined) yield { rule: exact.rule, values: noValues }
  }
}
