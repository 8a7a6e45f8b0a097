import type { Verdict } from '../../../http/access/identity.ts'
import type { Stream } from './stream.ts'

/** Time for which the verdict on a token counts: a session that ends ends its streams within a second. */
const verdictMs = 1000

/** Verifies that the token is still valid. */
export type VerifyToken = (token: string) => Verdict | Promise<Verdict>

/** Ends streams whose token is no longer valid, and holds what they are sent while that is unknown. */
export class StreamTokens {
  readonly #verify: VerifyToken

  constructor(verify: VerifyToken) {
    this.#verify = verify
  }

  /** Returns whether the stream's token is known to be valid; a verdict that comes later ends or releases the stream. */
  mayReceive(stream: Stream): boolean {
    const { token } = stream.listener
    if (token === undefined) return true
    const verdict = this.#verify(token)
    this.#judge(stream, token, verdict)
    return !(verdict instanceof Promise) && isSignedIn(verdict) && !isNarrowed(stream, verdict)
  }

  /** Verifies each token once, however many streams it has. */
  verifyAll(streams: Iterable<Stream>): void {
    const verdicts = new Map<string, Verdict | Promise<Verdict>>()
    for (const stream of streams) {
      const { token } = stream.listener
      if (token === undefined) continue
      const verdict = verdicts.get(token) ?? this.#verify(token)
      verdicts.set(token, verdict)
      this.#judge(stream, token, verdict)
    }
  }

  /**
   * Before something is done that the client asks for: ends a stream whose token is no longer valid.
   *
   * @throws what the look-up fails with
   */
  async verifyAgain(stream: Stream): Promise<void> {
    const { token } = stream.listener
    while (token !== undefined && stream.isOpen) {
      const begunAt = performance.now()
      const verdict = await this.#verify(token)
      if (isLate(verdict, begunAt)) continue
      this.#judge(stream, token, verdict)
      return
    }
  }

  /** Ends the stream, or sends what it was not sent while the verdict was unknown. */
  #judge(stream: Stream, token: string, verdict: Verdict | Promise<Verdict>): void {
    if (verdict instanceof Promise) {
      const begunAt = performance.now()
      verdict.then(
        (known) => {
          if (!isLate(known, begunAt)) this.#judge(stream, token, known)
        },
        // Without the database it is unknown; nothing is sent until it is looked up again.
        () => undefined,
      )
      return
    }
    // A WebSocket may have brought another one meanwhile.
    if (stream.listener.token !== token) return
    if (isSignedIn(verdict) && !isNarrowed(stream, verdict)) stream.release()
    else stream.end('session_ended')
  }
}

/** The session may have ended since. One that has ended stays so. */
function isLate(verdict: Verdict, begunAt: number): boolean {
  return isSignedIn(verdict) && performance.now() - begunAt > verdictMs
}

function isSignedIn(verdict: Verdict): boolean {
  return 'identity' in verdict && ['user', 'admin'].includes(verdict.identity.kind)
}

/** Returns whether a program's token permits less than when the stream was opened. */
function isNarrowed({ listener: { scope } }: Stream, verdict: Verdict): boolean {
  if (!('identity' in verdict) || scope.kind !== 'caller' || verdict.identity.scope.kind !== 'caller')
    return false
  const [before, now] = [scope.grant, verdict.identity.scope.grant]
  if (before === now || before === undefined || now === undefined) return false
  if (before.mayWrite && !now.mayWrite) return true
  const { tables } = now
  if (tables === undefined) return false
  return before.tables === undefined || [...before.tables].some((name) => !tables.has(name))
}
