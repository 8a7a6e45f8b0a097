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
/**
 * Age of the last successful read after which sessions are checked one by one. A node that is cut off must
 * not accept old tokens.
 */
const staleMs = 900
/** Time that entries stay in memory after their last token expired. This node's clock may be set back. */
const slackMs = 600_000
/** Interval between removals of expired entries. */
const sweepMs = 60_000

interface Ended {
  readonly endedAtMs: number
  readonly tokensExpireAtMs: number
}

/** Ended sessions, and deleted or disabled users, whose access tokens may still be valid. */
export class EndedSessions {
  readonly #database: SystemDatabase
  readonly #clock: Clock
  readonly #notifications: Notifications
  readonly #handle: WatchHandle
  readonly #ended = new Map<string, Ended>()
  /** Transaction number before which every transaction has been read. */
  #seenBefore = '0'
  #sweptAt = performance.now()

  constructor(database: SystemDatabase, clock: Clock, notifications: Notifications) {
    this.#database = database
    this.#clock = clock
    this.#notifications = notifications
    this.#handle = notifications.watch({
      topic,
      version: () => this.#newEntries(),
      changesOf: (version) => JSON.stringify(parseVersion(version).ended),
      onChange: (version) => this.#remember(version),
      onTimeline: () => {
        this.#seenBefore = '0'
      },
    })
  }

  /**
   * Returns whether the token's session has ended. For a token without a session, returns whether its user
   * ended after it was issued.
   */
  has(owner: TokenOwner): boolean {
    const { sessionId } = owner
    return sessionId === undefined ? this.#hasUserOf(owner) : this.#ended.has(sessionId)
  }

  /**
   * Returns whether the database must be queried. SQL that disables a user leaves the session rows. They also
   * matter if the user is enabled again.
   */
  needsQuery(owner: TokenOwner): boolean {
    return performance.now() - this.#handle.currentAt >= staleMs || this.#hasUserOf(owner)
  }

  /** Returns whether the user was deleted or disabled after the token was issued. */
  #hasUserOf({ userId, issuedAt }: TokenOwner): boolean {
    const ended = this.#ended.get(userId)
    return ended !== undefined && (issuedAt ?? 0) * 1000 <= ended.endedAtMs
  }

  /**
   * Adds a session after the commit. It applies on this node at once. Other nodes read it later, and this node
   * then reads how long it must be kept.
   */
  add(sessionId: string): void {
    this.#ended.set(sessionId, { endedAtMs: 0, tokensExpireAtMs: Number.POSITIVE_INFINITY })
    this.#notifications.announce(topic)
  }

  /** Queries the database whether the token is still valid. */
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

  /** Queries the database whether the sign-in still waits for its second factor. */
  async isPending({ userId, pendingId }: PendingIdentity): Promise<boolean> {
    if (!isUuid(pendingId)) return false
    const found = await this.#database.maybeOne(sql`
      select 1 from basalt.pending_sign_ins p join basalt.users u on u.id = p.user_id and u.disabled_at is null
      where p.id = ${pendingId} and p.user_id = ${userId} and p.expires_at > now()`)
    return found !== undefined
  }

  /**
   * Selects new entries, which double as the version. A second statement would be one more transaction for each
   * poll that finds entries.
   */
  #newEntries(): Sql {
    // An open transaction may have a smaller number than a committed one. Reading therefore starts at the oldest
    // transaction that was open last time.
    return sql`select jsonb_build_array(
      pg_snapshot_xmin(pg_current_snapshot())::text,
      coalesce((select jsonb_agg(jsonb_build_array(session_id,
          extract(epoch from ended_at) * 1000, extract(epoch from tokens_expire_at) * 1000) order by ended_at)
        from basalt.ended_sessions
        where ended_by >= ${this.#seenBefore}::xid8), '[]'))`
  }

  #remember(version: string | null): void {
    const { seenBefore, ended } = parseVersion(version)
    for (const [id, endedAtMs, tokensExpireAtMs] of ended)
      this.#ended.set(id, { endedAtMs, tokensExpireAtMs })
    this.#seenBefore = seenBefore ?? this.#seenBefore
    if (performance.now() - this.#sweptAt >= sweepMs) this.sweep()
  }

  /** Removes entries whose last token has expired. */
  sweep(): void {
    this.#sweptAt = performance.now()
    const before = this.#clock.now().getTime() - slackMs
    for (const [id, { tokensExpireAtMs }] of this.#ended) {
      if (tokensExpireAtMs < before) this.#ended.delete(id)
    }
  }
}

/** Id, time of the end and expiry of the last token, both in milliseconds since 1970. */
type EndedRow = readonly [string, number, number]

/** Parses the result of {@link EndedSessions.#newEntries}. */
function parseVersion(version: string | null): {
  readonly seenBefore: string | undefined
  readonly ended: readonly EndedRow[]
} {
  const [seenBefore, ended = []]: [string?, EndedRow[]?] = version === null ? [] : JSON.parse(version)
  return { seenBefore, ended }
}

type TokenOwner = Pick<UserIdentity, 'sessionId' | 'userId' | 'issuedAt'>

/**
 * Rejects tokens of ended sessions, without a query while this node is up to date. Tokens for the second
 * factor are rare, and each is checked by a query.
 */
export function refuseEndedSessions(verifier: TokenVerifier, ended: EndedSessions): TokenVerifier {
  const check = (verdict: Verdict): Verdict | Promise<Verdict> => {
    const orRefuse = (isAlive: boolean) => (isAlive ? verdict : refuse)
    if ('pending' in verdict && verdict.pending !== undefined) {
      return ended.isPending(verdict.pending).then((isPending) => (isPending ? verdict : notPending))
    }
    if (!('identity' in verdict) || verdict.identity.kind !== 'user') return verdict
    const { identity } = verdict
    if (ended.has(identity)) return refuse
    return ended.needsQuery(identity) ? ended.isAlive(identity).then(orRefuse) : verdict
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
/** Verdict on a sign-in that no longer waits. */
const notPending: Verdict = { refusal: 'pending', pending: undefined }
