import type { Verdict } from '../../../http/access/identity.ts'
import { holds } from '../../../http/access/permissions.ts'
import type { Stream } from './stream.ts'

/** Milliseconds for which the verdict on a token counts. The streams of a session end within a second of it. */
const verdictMs = 1000

/** Function that verifies that the token is still valid. */
export type VerifyToken = (token: string) => Verdict | Promise<Verdict>

/** Verifier that ends streams with an invalid token, and holds their frames while the validity is unknown. */
export class StreamTokens {
  readonly #verify: VerifyToken

  constructor(verify: VerifyToken) {
    this.#verify = verify
  }

  /** Returns true if the stream’s token is known to be valid. A later verdict ends or releases the stream. */
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
   * Verifies the token before a request of the client is handled. Ends the stream if the token is no longer valid.
   *
   * @throws an error of the lookup
   */
  async verifyAgain(stream: Stream): Promise<void> {
    const { token } = stream.listener
    while (token !== undefined && stream.isOpen) {
      const startedAt = performance.now()
      const verdict = await this.#verify(token)
      if (isStale(verdict, startedAt)) continue
      this.#judge(stream, token, verdict)
      return
    }
  }

  /** Ends the stream, or sends the frames that were held while the verdict was unknown. */
  #judge(stream: Stream, token: string, verdict: Verdict | Promise<Verdict>): void {
    if (verdict instanceof Promise) {
      const startedAt = performance.now()
      verdict.then(
        (known) => {
          if (!isStale(known, startedAt)) this.#judge(stream, token, known)
        },
        // Without the database the verdict is unknown. Nothing is sent until the next lookup succeeds.
        () => undefined,
      )
      return
    }
    // A WebSocket may have sent another token meanwhile.
    if (stream.listener.token !== token) return
    if (isSignedIn(verdict) && !isNarrowed(stream, verdict)) stream.release()
    else stream.end('session_ended')
  }
}

/** Returns true if the session may have ended since the verdict. An ended session does not resume. */
function isStale(verdict: Verdict, startedAt: number): boolean {
  return isSignedIn(verdict) && performance.now() - startedAt > verdictMs
}

function isSignedIn(verdict: Verdict): boolean {
  return 'identity' in verdict && ['user', 'admin'].includes(verdict.identity.kind)
}

/** Returns true if a program’s token permits less than when the stream was opened. */
function isNarrowed({ listener: { scope } }: Stream, verdict: Verdict): boolean {
  if ('identity' in verdict && verdict.identity.kind === 'admin')
    return !holds(verdict.identity.role, 'rows.read')
  if (!('identity' in verdict) || scope.kind !== 'caller' || verdict.identity.scope.kind !== 'caller')
    return false
  const [before, now] = [scope.grant, verdict.identity.scope.grant]
  if (before === now || before === undefined || now === undefined) return false
  if (before.mayWrite && !now.mayWrite) return true
  const { tables } = now
  if (tables === undefined) return false
  return before.tables === undefined || [...before.tables].some((name) => !tables.has(name))
}
