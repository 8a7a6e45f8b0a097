/** Violation of a rule by the value of a key. */
export interface RuleViolation {
  readonly key: string
  readonly problem: string
}

/**
 * Rule that a schema cannot state, for one key or for several together. Each key by itself has been checked against its
 * schema. Rules stand in the `config.ts` of the part that they judge and name the sections that they read.
 */
export type ConfigRule<Sections> = (config: Sections) => RuleViolation | readonly RuleViolation[] | undefined
