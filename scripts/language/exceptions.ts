/** Sentence or name that may break a rule. */
export interface Exception {
  readonly file: string
  /** The name, or the beginning of the sentence. */
  readonly subject: string
  readonly rule?: string
  readonly reason: string
}

/** Correct sentences and names that break a rule. Rewriting is better than an entry. */
export const exceptions: readonly Exception[] = []
