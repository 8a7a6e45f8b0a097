import type { Check, Finding } from '../src/cli/doctor/check.ts'
import { examine } from '../src/cli/doctor/examine.ts'
import type { Outside } from '../src/cli/doctor/outside.ts'
import type { Config } from '../src/configuration.ts'

/** Runs one check and returns its findings by id. Several findings of an id are the last one. */
export async function findingsOf(
  config: Config,
  check: Check,
  replaced: Partial<Outside> = {},
): Promise<Readonly<Record<string, Finding>>> {
  const findings = await examine(config, [check], replaced)
  return Object.fromEntries(findings.map((finding) => [finding.id, finding]))
}
