/** Violation of a rule by the value of a key. */
export interface RuleViolation {
  readonly key: string
  readonly problem: string
}

/**
 * Rule that a schema cannot express, for one key or for several together. Each key has been checked against its
 * schema before. Rules are in the `config.ts` of their section and name the sections that they read.
 */
export type ConfigRule<Sections> = (config: Sections) => RuleViolation | readonly RuleViolation[] | undefined
