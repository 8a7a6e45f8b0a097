import { AppError } from '../../../lib/errors.ts'

/** A refused write may have been fine and only its return forbidden; Postgres says the same of both. */
export function explainRefusal(error: AppError): AppError {
  if (error.kind !== 'insufficient_permissions') return error
  return error.with({
    data: { hint: 'the record must pass a policy for the write, and one that lets the caller read it back' },
  })
}

/** For `catch`: throws on, a refusal with its explanation. */
export function explainingRefusal(error: unknown): never {
  throw error instanceof AppError ? explainRefusal(error) : error
}
