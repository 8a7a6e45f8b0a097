import { randomBytes } from 'node:crypto'
import type { FastifyReply } from 'fastify'
import type { Notifications } from '../../../database/notifications/notifications.ts'
import { sql } from '../../../database/sql.ts'
import type { Queryable, SystemDatabase } from '../../../database/system-database.ts'
import { EventStream, formatEvent } from '../../../http/responses/sse.ts'
import type { SecretBox } from '../../../lib/secret-box.ts'
import { hashToken } from '../../../lib/tokens.ts'

/** Seconds for which a stream waits for its sign-in. */
const popupSeconds = 300
/** Interval between comments, which keep proxies from closing the connection. */
const heartbeatMs = 20_000

const topic = 'social_popups'

interface Waiting {
  readonly idHash: Buffer
  readonly events: EventStream
  readonly timers: readonly NodeJS.Timeout[]
}

export interface PopupsDeps {
  readonly database: SystemDatabase
  readonly notifications: Notifications
  readonly secrets: () => SecretBox
}

/**
 * Streams that wait for the tokens of a sign-in in another window of the same browser, perhaps on another
 * node. A cookie binds a stream to its browser, so tokens never reach a stream of another browser.
 */
export class Popups {
  readonly #deps: PopupsDeps
  readonly #waiting = new Map<string, Waiting>()

  constructor(deps: PopupsDeps) {
    this.#deps = deps
    deps.notifications.watch({
      topic,
      version: sql`select string_agg(answer_number::text, ',' order by answer_number)
        from basalt.social_popups where answer is not null`,
      onChange: () => this.#deliver(),
    })
  }

  /** Opens a stream of this browser. */
  async open(reply: FastifyReply, browserHash: Buffer): Promise<FastifyReply> {
    const { database } = this.#deps
    const clientId = randomBytes(32).toString('base64url')
    const idHash = hashToken(clientId)
    await database.count(sql`
      insert into basalt.social_popups (id_hash, browser_hash, expires_at)
      values (${idHash}, ${browserHash}, now() + make_interval(secs => ${popupSeconds}::int))`)
    const events = new EventStream(reply)
    const key = idHash.toString('hex')
    const timers = [
      setInterval(() => events.write(':\n\n'), heartbeatMs).unref(),
      setTimeout(() => {
        this.#finish(key, { error: 'the sign-in was not finished in time' })
      }, popupSeconds * 1000).unref(),
    ]
    this.#waiting.set(key, { idHash, events, timers })
    events.onClose(() => {
      this.#remove(key)
      // A row that stays behind expires.
      void database
        .count(sql`delete from basalt.social_popups where id_hash = ${idHash}`)
        .catch(() => undefined)
    })
    events.write(formatEvent({ name: 'connected', data: JSON.stringify({ clientId }) }))
    return reply
  }

  /** Returns whether the browser opened a stream with this id that still waits. */
  async isOpen(idHash: Buffer, browserHashes: readonly Buffer[]): Promise<boolean> {
    const found = await this.#deps.database.count(sql`
      select from basalt.social_popups where id_hash = ${idHash} and answer is null
        and browser_hash = any(${browserHashes}::bytea[]) and expires_at > now()`)
    return found > 0
  }

  /** Sends the outcome of a sign-in to the stream that waits for it. Returns false when the stream no longer waits. */
  async send(idHash: Buffer, browserHashes: readonly Buffer[], outcome: object): Promise<boolean> {
    const { database, secrets, notifications } = this.#deps
    const sealed = secrets().seal(Buffer.from(JSON.stringify(outcome)), contextOf(idHash))
    const answered = await database.count(sql`
      update basalt.social_popups
      set answer = ${sealed}, answer_number = nextval('basalt.social_popup_answers')
      where id_hash = ${idHash} and answer is null and browser_hash = any(${browserHashes}::bytea[])
        and expires_at > now()`)
    if (answered > 0) notifications.announce(topic)
    return answered > 0
  }

  /** Ends all streams. */
  drain(): void {
    for (const key of [...this.#waiting.keys()]) this.#finish(key, { error: 'the server is shutting down' })
  }

  async #deliver(): Promise<void> {
    const { database, secrets } = this.#deps
    if (this.#waiting.size === 0) return
    const hashes = [...this.#waiting.values()].map(({ idHash }) => idHash)
    for (const { id_hash: idHash, answer } of await consumeResults(database, hashes)) {
      const opened = secrets().open(answer, contextOf(idHash))
      const outcome =
        opened === undefined
          ? { error: 'failed to authenticate with provider' }
          : JSON.parse(opened.toString())
      this.#finish(idHash.toString('hex'), outcome)
    }
  }

  #finish(key: string, outcome: object): void {
    const waiting = this.#waiting.get(key)
    this.#remove(key)
    waiting?.events.end(formatEvent({ name: 'oauth', data: JSON.stringify(outcome) }))
  }

  #remove(key: string): void {
    for (const timer of this.#waiting.get(key)?.timers ?? []) clearTimeout(timer)
    this.#waiting.delete(key)
  }
}

async function consumeResults(database: Queryable, hashes: readonly Buffer[]) {
  return await database.many<{ id_hash: Buffer; answer: string }>(sql`
    delete from basalt.social_popups where id_hash = any(${hashes}::bytea[]) and answer is not null
    returning id_hash, answer`)
}

function contextOf(idHash: Buffer): string {
  return `answer of popup ${idHash.toString('hex')}`
}
