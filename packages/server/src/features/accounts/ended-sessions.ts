import type { Logger } from 'pino'
import { Poller } from '../../database/poller.ts'
import { sql } from '../../database/sql.ts'
import type { SystemDatabase } from '../../database/system-database.ts'
import type { TokenVerifier, Verdict } from '../../http/identity.ts'
import { isUuid } from '../../lib/uuid.ts'

/** How often each node reads which sessions have ended: in force everywhere within a second (decisions, Auth). */
const pollMs = 300
/** Without news for so long, sessions are looked up one by one: a node that is cut off must not believe old tokens. */
const staleMs = 900

/** The sessions that have ended while access tokens of theirs may still be about. */
export class EndedSessions {
  readonly #database: SystemDatabase
  readonly #keepSeconds: number
  readonly #poller: Poller
  #ended = new Map<string, number>()
  /** Transactions before this one were all seen. */
  #seenBefore = '0'
  #readAt = Number.NEGATIVE_INFINITY

  /** @param keepSeconds the life of an access token */
  constructor(database: SystemDatabase, keepSeconds: number, log: Logger) {
    this.#database = database
    this.#keepSeconds = keepSeconds
    const read = () => this.#read()
    this.#poller = new Poller({ what: 'which sessions have ended', everyMs: pollMs, read, log })
  }

  has(sessionId: string): boolean {
    return this.#ended.has(sessionId)
  }

  get isCurrent(): boolean {
    return performance.now() - this.#readAt < staleMs
  }

  /** In force on this node at once; the others follow by reading. */
  add(sessionId: string): void {
    this.#ended.set(sessionId, performance.now())
  }

  /** Whether the session is alive, by the database. */
  async isAlive(sessionId: string): Promise<boolean> {
    if (!isUuid(sessionId)) return false
    const found = await this.#database.maybeOne(
      sql`select 1 from basalt.sessions where id = ${sessionId} and expires_at > now()`,
    )
    return found !== undefined
  }

  start(): Promise<void> {
    return this.#poller.start()
  }

  stop(): void {
    this.#poller.stop()
  }

  async #read(): Promise<void> {
    const begunAt = performance.now()
    // A transaction that is still open may have a smaller number than one that has committed: read again from the
    // oldest that was open last time.
    const { seen_before, ids } = await this.#database.one<{ seen_before: string; ids: string[] }>(sql`
      select pg_snapshot_xmin(pg_current_snapshot())::text as seen_before,
        coalesce((select array_agg(session_id::text) from basalt.ended_sessions
          where ended_by >= ${this.#seenBefore}::xid8), '{}') as ids`)
    for (const id of ids) if (!this.#ended.has(id)) this.#ended.set(id, begunAt)
    this.#seenBefore = seen_before
    this.#readAt = begunAt
    const forgetBefore = begunAt - (this.#keepSeconds + 60) * 1000
    for (const [id, at] of this.#ended) {
      if (at > forgetBefore) break
      this.#ended.delete(id)
    }
  }
}

/** Refuses tokens whose session has ended, without a query while this node is up to date. */
export function refuseEndedSessions(verifier: TokenVerifier, ended: EndedSessions): TokenVerifier {
  const check = (verdict: Verdict): Verdict | Promise<Verdict> => {
    if (!('identity' in verdict) || verdict.identity.kind !== 'user') return verdict
    const { sessionId } = verdict.identity
    if (sessionId === undefined) return verdict
    if (ended.has(sessionId)) return refuse
    if (ended.isCurrent) return verdict
    return ended.isAlive(sessionId).then((isAlive) => (isAlive ? verdict : refuse))
  }
  return {
    recognizes: (token) => verifier.recognizes(token),
    verify(token) {
      const verdict = verifier.verify(token)
      return verdict instanceof Promise ? verdict.then(check) : check(verdict)
    },
  }
}

const refuse: Verdict = { refusal: 'invalid' }
