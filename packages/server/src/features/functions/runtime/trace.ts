import { Type } from '../../../lib/type.ts'
import type { CallObserver, CallStatement } from './calls.ts'

/** Maximum number of lines and of statements that a trace has. */
const entryLimit = 200
/** Maximum number of characters of one of them. */
const textLimit = 2000

export const TracedStatement = Type.Object({
  text: Type.String({
    description: 'SQL without its values, or the request of the data API. At most 2,000 characters.',
  }),
  durationMs: Type.Number(),
  error: Type.Optional(Type.String({ description: 'Message of its error.' })),
})

/** Lines and statements of one call, up to a limit. */
export class CallTrace implements CallObserver {
  readonly log: string[] = []
  readonly statements: { text: string; durationMs: number; error?: string }[] = []

  onLog = (line: string): void => {
    if (this.log.length < entryLimit) this.log.push(line.slice(0, textLimit))
  }

  onStatement = ({ text, durationMs, error }: CallStatement): void => {
    if (this.statements.length >= entryLimit) return
    this.statements.push({
      text: text.slice(0, textLimit),
      durationMs: Math.round(durationMs * 10) / 10,
      ...(error === undefined ? {} : { error: error.slice(0, textLimit) }),
    })
  }
}
