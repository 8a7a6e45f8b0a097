import type { AppError } from '../../../../lib/errors.ts'
import type { Explanation } from '../schemas.ts'

/** Check that a request passes before any policy is evaluated. */
export type Gate = Explanation['gates'][number]

/** @param refused error of the API if the request does not pass and needs no statement */
export function gate(name: string, passes: boolean, sentence: string, refused?: AppError): Gate {
  if (passes) return { name, verdict: 'passes', sentence }
  if (refused === undefined) return { name, verdict: 'stops', sentence }
  const { status, kind: error, message } = refused
  return { name, verdict: 'stops', sentence, refusal: { status, error, message } }
}

/** Returns the first gate that stops the request. */
export function stopping(gates: readonly Gate[]): Gate | undefined {
  return gates.find(({ verdict }) => verdict === 'stops')
}
