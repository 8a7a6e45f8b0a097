import { sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import { signInSeconds } from '../social-login/index.ts'

/** Request to the provider that waits for its response. */
export interface WaitingRequest {
  /** Session whose administrator authenticates again; null for a sign-in. */
  readonly session_id: string | null
  readonly return_to: string | null
  readonly started_at: Date
}

export interface NewRequest {
  readonly stateHash: Buffer
  readonly browserHash: Buffer
  readonly sessionId: string | undefined
  readonly returnTo: string | undefined
}

/** Inserts a request, and deletes expired ones. */
export async function insertRequest(database: Queryable, request: NewRequest): Promise<void> {
  await database.count(sql`
    with dead as (delete from basalt.administrator_provider_sign_ins where expires_at <= now())
    insert into basalt.administrator_provider_sign_ins (state_hash, browser_hash, session_id, return_to, expires_at)
    values (${request.stateHash}, ${request.browserHash}, ${request.sessionId ?? null}::uuid,
      ${request.returnTo ?? null}, now() + make_interval(secs => ${signInSeconds}::int))`)
}

/** Consumes a state. One of several concurrent calls succeeds. @returns undefined for a state of another browser */
export async function consumeRequest(
  database: Queryable,
  { stateHash, browserHash }: Pick<NewRequest, 'stateHash' | 'browserHash'>,
): Promise<WaitingRequest | undefined> {
  return await database.maybeOne<WaitingRequest>(sql`
    delete from basalt.administrator_provider_sign_ins
    where state_hash = ${stateHash} and browser_hash = ${browserHash} and expires_at > now()
    returning session_id, return_to, started_at`)
}
