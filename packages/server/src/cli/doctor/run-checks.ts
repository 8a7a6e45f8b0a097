import pg from 'pg'
import { settingOf } from '../../config/settings.ts'
import { type Config, settings } from '../../configuration.ts'
import { ConnectionLost } from '../../database/errors/failures.ts'
import { messageOf, OperatorError } from '../../lib/errors.ts'
import { showControls } from '../table.ts'
import { type Check, type CheckContext, type Finding, failure, skipped } from './check.ts'
import { CheckSkipped } from './check-skipped.ts'

const usualTimeoutMs = 10_000

/** Runs the checks at the same time. A check that fails or hangs is a failure of its own, and affects no other. */
export async function runChecks(
  checks: readonly Check[],
  config: Config,
  contextFor: (signal: AbortSignal) => CheckContext,
): Promise<Finding[]> {
  const redact = createRedaction(config)
  const findings = await Promise.all(checks.map((check) => runCheck(check, contextFor)))
  return findings.flat().map(({ id, status, message, fix }) => ({
    id,
    status,
    message: redact(showControls(message)),
    fix: fix === null ? null : redact(showControls(fix)),
  }))
}

async function runCheck(
  { id, timeoutMs = usualTimeoutMs, run }: Check,
  contextFor: (signal: AbortSignal) => CheckContext,
): Promise<readonly Finding[]> {
  const end = new AbortController()
  const late = Promise.withResolvers<readonly Finding[]>()
  const timer = setTimeout(
    () => late.resolve([failure(id, `no result after ${timeoutMs / 1000} s`, null)]),
    timeoutMs,
  )
  const work = run(contextFor(end.signal)).catch((error) => [describeError(id, error)])
  try {
    return await Promise.race([work, late.promise])
  } finally {
    clearTimeout(timer)
    end.abort()
  }
}

function describeError(id: string, error: unknown): Finding {
  if (error instanceof CheckSkipped) return skipped(id, error.message)
  if (error instanceof ConnectionLost) {
    const { cause } = error
    return failure(
      id,
      `${error.message}: ${messageOf(cause instanceof AggregateError ? cause.errors[0] : cause)}`,
      null,
    )
  }
  if (error instanceof OperatorError || error instanceof pg.DatabaseError)
    return failure(id, error.message, null)
  return failure(id, `the check failed: ${messageOf(error)}`, null)
}

/** Minimum length of a secret that is replaced. Shorter ones would also match ordinary words. */
const shortestSecret = 4

/** Returns a function that replaces the configured secrets. The message of an error could contain one. */
function createRedaction(config: Config): (text: string) => string {
  const values = settings
    .filter(({ secret }) => secret)
    .flatMap(({ key }) => settingOf(config, key))
    .filter((value) => typeof value === 'string')
  const secrets = [...values, ...values.flatMap(passwordsIn)]
    .filter((value) => value.length >= shortestSecret)
    .toSorted((one, other) => other.length - one.length)
  return (text) => secrets.reduce((result, secret) => result.replaceAll(secret, '[redacted]'), text)
}

/** Returns the password of a URL as it is, and as the text that it encodes. A URL may name several hosts. */
function passwordsIn(value: string): string[] {
  const [, password = ''] = /^\w+:\/\/[^/?#]*?:([^/?#]*)@/.exec(value) ?? []
  try {
    return [password, decodeURIComponent(password)]
  } catch {
    return [password]
  }
}
