import type { SessionCode } from '../catalog/session-code.ts'
import type { SessionGuard } from '../session/guard.ts'

/** Guards of sessions on replicas, some of which are created while the server runs. */
export class Guards {
  readonly #guards: SessionGuard[] = []
  #code: SessionCode | undefined

  add(guard: SessionGuard): void {
    if (this.#code !== undefined) guard.trust(this.#code)
    this.#guards.push(guard)
  }

  /** Judges statements by this code from now on. */
  trust(code: SessionCode): void {
    this.#code = code
    for (const guard of this.#guards) guard.trust(code)
  }
}
