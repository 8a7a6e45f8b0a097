import type { Notifications, WatchHandle } from '../../../../database/notifications/notifications.ts'
import { type Sql, sql } from '../../../../database/sql.ts'
import type { SystemDatabase } from '../../../../database/system-database.ts'
import type {
  PendingIdentity,
  TokenVerifier,
  UserIdentity,
  Verdict,
} from '../../../../http/access/identity.ts'
import type { Clock } from '../../../../lib/clock.ts'
import { isUuid } from '../../../../lib/uuid.ts'

const topic = 'ended_sessions'
/** Without news for so long, sessions are looked up one by one: a node that is cut off must not believe old tokens. */
const staleMs = 900
/** Kept in memory beyond the last token by this node's clock, which may be set back. */
const slackMs = 600_000
/** How often what has expired is looked for. */
const sweepMs = 60_000

interface Ended {
  readonly endedAtMs: number
  readonly tokensExpireAtMs: number
}

/** The sessions that have ended, and users deleted or disabled, while access tokens of theirs may still be valid. */
export class EndedSessions {
  readonly #database: SystemDatabase
  readonly #clock: Clock
  readonly #notifications: Notifications
  readonly #handle: WatchHandle
  readonly #ended = new Map<string, Ended>()
  /** Transactions before this one were all seen. */
  #seenBefore = '0'
  #sweptAt = performance.now()

  constructor(database: SystemDatabase, clock: Clock, notifications: Notifications) {
    this.#database = database
    this.#clock = clock
    this.#notifications = notifications
    this.#handle = notifications.watch({
      topic,
      version: () => this.#news(),
      onChange: (version) => this.#remember(version),
    })
  }

  /** Whether the token's session has ended; of a token without one, whether its user has since it was made. */
  has(owner: TokenOwner): boolean {
    const { sessionId } = owner
    return sessionId === undefined ? this.#hasUserOf(owner) : this.#ended.has(sessionId)
  }

  /**
   * Whether the database has to be asked. SQL that disables a user leaves the rows of the sessions, which may be of one who
   * is enabled again.
   */
  mustAsk(owner: TokenOwner): boolean {
    return performance.now() - this.#handle.currentAt >= staleMs || this.#hasUserOf(owner)
  }

  /** Whether the user was deleted or disabled since the token was made. */
  #hasUserOf({ userId, issuedAt }: TokenOwner): boolean {
    const ended = this.#ended.get(userId)
    return ended !== undefined && (issuedAt ?? 0) * 1000 <= ended.endedAtMs
  }

  /** After the commit: in force on this node at once; the others follow by reading, as this one does for how long. */
  add(sessionId: string): void {
    this.#ended.set(sessionId, { endedAtMs: 0, tokensExpireAtMs: Number.POSITIVE_INFINITY })
    this.#notifications.announce(topic)
  }

  /** Whether the token may still be used, by the database. */
  async isAlive({ sessionId, userId, issuedAt }: TokenOwner): Promise<boolean> {
    if (sessionId === undefined) {
      const ended = await this.#database.maybeOne(sql`
        select 1 from basalt.ended_sessions
        where session_id = ${userId} and ended_at >= to_timestamp(${issuedAt ?? 0}::float8) limit 1`)
      return ended === undefined
    }
    if (!isUuid(sessionId)) return false
    const found = await this.#database.maybeOne(sql`
      select 1 from basalt.sessions s join basalt.users u on u.id = s.user_id and u.disabled_at is null
      where s.id = ${sessionId} and s.expires_at > now()`)
    return found !== undefined
  }

  /** Whether the sign-in still waits for its second factor. */
  async isPending({ userId, pendingId }: PendingIdentity): Promise<boolean> {
    if (!isUuid(pendingId)) return false
    const found = await this.#database.maybeOne(sql`
      select 1 from basalt.pending_sign_ins p join basalt.users u on u.id = p.user_id and u.disabled_at is null
      where p.id = ${pendingId} and p.user_id = ${userId} and p.expires_at > now()`)
    return found !== undefined
  }

  /** What is new is the version itself: a second statement would be one transaction more for every look that finds some. */
  #news(): Sql {
    // A transaction that is still open may have a smaller number than one that has committed: read again from the
    // oldest that was open last time.
    return sql`select jsonb_build_array(
      pg_snapshot_xmin(pg_current_snapshot())::text,
      coalesce((select jsonb_agg(jsonb_build_array(session_id,
          extract(epoch from ended_at) * 1000, extract(epoch from tokens_expire_at) * 1000) order by ended_at)
        from basalt.ended_sessions
        where ended_by >= ${this.#seenBefore}::xid8), '[]'))`
  }

  #remember(version: string | null): void {
    if (version === null) return
    const [seenBefore, ended]: [string, EndedRow[]] = JSON.parse(version)
    for (const [id, endedAtMs, tokensExpireAtMs] of ended)
      this.#ended.set(id, { endedAtMs, tokensExpireAtMs })
    this.#seenBefore = seenBefore
    if (performance.now() - this.#sweptAt >= sweepMs) this.sweep()
  }

  /** Forgets those whose last token has expired. */
  sweep(): void {
    this.#sweptAt = performance.now()
    const before = this.#clock.now().getTime() - slackMs
    for (const [id, { tokensExpireAtMs }] of this.#ended) {
      if (tokensExpireAtMs < before) this.#ended.delete(id)
    }
  }
}

/** Id, when it ended, when its last token expires; in milliseconds since 1970. */
type EndedRow = readonly [string, number, number]

type TokenOwner = Pick<UserIdentity, 'sessionId' | 'userId' | 'issuedAt'>

/**
 * Refuses tokens whose session has ended, without a query while this node is up to date. A token for the second factor is
 * rare, and looked up each time.
 */
export function refuseEndedSessions(verifier: TokenVerifier, ended: EndedSessions): TokenVerifier {
  const check = (verdict: Verdict): Verdict | Promise<Verdict> => {
    const orRefuse = (isAlive: boolean) => (isAlive ? verdict : refuse)
    if ('pending' in verdict && verdict.pending !== undefined) {
      return ended.isPending(verdict.pending).then((isPending) => (isPending ? verdict : over))
    }
    if (!('identity' in verdict) || verdict.identity.kind !== 'user') return verdict
    const { identity } = verdict
    if (ended.has(identity)) return refuse
    return ended.mustAsk(identity) ? ended.isAlive(identity).then(orRefuse) : verdict
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
/** A sign-in that waits no longer. */
const over: Verdict = { refusal: 'pending', pending: undefined }
