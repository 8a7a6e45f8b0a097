import type { StatementFailed } from '../../../../database/connection/message.ts'
import { translateDatabaseFailure } from '../../../../database/errors/error-translation.ts'
import type { AppError } from '../../../../lib/errors.ts'
import { compileConditionProbes, patternsOf } from '../compile/probes.ts'
import type { RowsPlan } from '../plan/rows.ts'
import { firstFailure, type Probe } from './probe.ts'

/**
 * SQLSTATE of a pattern that ends in its escape character. It occurs only for rows that match up to that character.
 */
const invalidEscape = '22025'
/** SQLSTATE such as that of LIKE with a nondeterministic collation. */
const notSupported = '0A000'

/** Maximum number of evaluations. Each one leaves out the conditions that are known to be fine. */
const attempts = 20

/** Returns the error of a request condition that fails as the statement did, whatever rows it is evaluated on. */
export async function findConditionFault(
  probe: Probe,
  failure: StatementFailed,
  rows: RowsPlan,
): Promise<AppError | undefined> {
  const { code } = failure.error
  const patterns = patternsOf(rows)
  if (code === invalidEscape && patterns.some(endsInEscape)) return translateDatabaseFailure(failure)
  if (code === notSupported && patterns.length > 0) return translateDatabaseFailure(failure)
  let calls = compileConditionProbes(rows).map((fragment) => probe.statements.call(fragment))
  for (let attempt = 1; attempt <= attempts && calls.length > 0; attempt += 1) {
    const found = await firstFailure(probe, calls)
    if (found === undefined) return undefined
    if (found.error.code === code) return translateDatabaseFailure(found)
    calls = calls.slice(found.index + 1)
  }
  return undefined
}

function endsInEscape(pattern: string): boolean {
  return /(?:^|[^\\])(?:\\\\)*\\$/.test(pattern)
}
