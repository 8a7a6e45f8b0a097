import { randomUUID } from 'node:crypto'
import { AppError, messageOf } from '../../../lib/errors.ts'
import type { MailBackend } from './backend.ts'
import { MailRefused } from './refusal.ts'

/** Mail as a function of the operator gets it. */
export interface FunctionMail {
  /** Id, the same at every attempt. */
  readonly id: string
  readonly to: string
  readonly from: string
  readonly replyTo: string | undefined
  readonly subject: string
  readonly html: string
  readonly text: string
}

/** Function of the operator that sends mail. */
export interface MailFunction {
  /** Returns true if there is one. @throws AppError functions_unavailable while that is unknown */
  exists(): boolean
  /** Sends a mail. @returns false without a function @throws AppError */
  send(mail: FunctionMail): Promise<boolean>
}

/** Mail function of a server that runs none. */
export const noMailFunction: MailFunction = { exists: () => false, send: async () => false }

/** Statuses of the 4xx class after which another attempt may succeed. */
const passing: readonly number[] = [408, 409, 425, 429]

/** Creates a backend that sends by the function of the operator, and by another backend while there is none. */
export function preferFunction(
  { send }: MailFunction,
  { from }: { readonly from: string },
  otherwise: MailBackend,
): MailBackend {
  return {
    async send(message, options = {}) {
      const { id = randomUUID() } = options
      const mail = { from, replyTo: undefined, ...message, id }
      const isSent = await send(mail).catch((error) => {
        throw explain(error)
      })
      if (!isSent) await otherwise.send(message, options)
    },
    close: () => otherwise.close(),
  }
}

/** Returns the error for the record of a mail. A refusal is the same at every attempt. */
function explain(error: unknown): unknown {
  if (!(error instanceof AppError)) return error
  const { status, extras, message } = error
  if (status < 500 && !passing.includes(status)) return new MailRefused(message)
  return extras.cause === undefined ? error : new Error(`${message}: ${messageOf(extras.cause)}`)
}
