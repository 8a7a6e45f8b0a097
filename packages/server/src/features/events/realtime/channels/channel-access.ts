import type { Logger } from 'pino'
import type { CallerScope } from '../../../../database/caller/caller-scope.ts'
import { caller } from '../../../../database/catalog/queries/caller.ts'
import { type Statement, statement } from '../../../../database/connection/message.ts'
import { describeReason } from '../../../../database/errors/definition-faults.ts'
import { type Expression, render, sql } from '../../../../database/sql.ts'
import type { SystemDatabase } from '../../../../database/system-database.ts'
import type { UserDatabase } from '../../../../database/user-database.ts'
import { RecentKeys } from '../../../../lib/recent-keys.ts'
import { combinePolicies } from '../../../data/policies/index.ts'
import { isUndecidable } from '../changes/verdict-failures.ts'

/** Kind of use of a channel. */
export type ChannelUse = 'subscribe' | 'send'

/** Milliseconds after which the policies are read again. */
const rulesMs = 1000

interface Rules {
  /** Statement for each use; undefined if every caller is permitted. */
  readonly statements: Readonly<Record<ChannelUse, Statement | undefined>> | undefined
}

interface PolicyRow {
  readonly command: string
  readonly permissive: boolean
  readonly using: Expression | undefined
  readonly check: Expression | undefined
}

/**
 * Access rules of channels. Every signed-in caller is permitted until row level security is enabled on
 * `basalt.realtime_channels`. From then on its policies decide, evaluated as the caller for a row with the name of the
 * channel.
 */
export class ChannelAccess {
  readonly #system: SystemDatabase
  readonly #user: UserDatabase
  readonly #log: Logger
  readonly #logged = new RecentKeys(60_000)
  #rules: { readonly readAt: number; readonly value: Promise<Rules> } | undefined

  constructor(system: SystemDatabase, user: UserDatabase, log: Logger) {
    this.#system = system
    this.#user = user
    this.#log = log
  }

  /** Returns the channels that the caller may use. @throws AppError, ConnectionLost, PoolExhausted */
  async permitted(
    scope: CallerScope,
    channels: readonly string[],
    use: ChannelUse,
  ): Promise<ReadonlySet<string>> {
    if (scope.kind === 'unrestricted') return new Set(channels)
    const { statements } = await this.#readRules()
    if (statements === undefined) return new Set(channels)
    const condition = statements[use]
    return condition === undefined ? new Set() : await this.#evaluate(scope, condition, channels)
  }

  /** Evaluates the policies. A policy that fails on a channel denies this channel and no other. */
  async #evaluate(
    scope: CallerScope,
    condition: Statement,
    channels: readonly string[],
  ): Promise<ReadonlySet<string>> {
    try {
      const step = { statement: condition, values: [JSON.stringify(channels)] }
      const [answer] = await this.#user.run(scope, [step], { isRead: true })
      return new Set((answer?.rows ?? []).flatMap(([channel]) => channel ?? []))
    } catch (error) {
      if (!isUndecidable(error)) throw error
      if (channels.length > 1) {
        const each = await Promise.all(channels.map((channel) => this.#evaluate(scope, condition, [channel])))
        return new Set(each.flatMap((permitted) => [...permitted]))
      }
      const reason = describeReason(error)
      if (this.#logged.isNew(reason)) this.#log.warn({ reason }, 'a policy failed on a channel')
      return new Set()
    }
  }

  #readRules(): Promise<Rules> {
    const now = performance.now()
    if (this.#rules === undefined || now - this.#rules.readAt > rulesMs) {
      const value = readRules(this.#system)
      this.#rules = { readAt: now, value }
      value.catch(() => {
        this.#rules = undefined
      })
    }
    return this.#rules.value
  }
}

async function readRules(database: SystemDatabase): Promise<Rules> {
  const { is_restricted, policies } = await database.one<{
    is_restricted: boolean
    policies: PolicyRow[]
  }>(sql`
    select c.relrowsecurity as is_restricted, coalesce((
      select json_agg(json_strip_nulls(json_build_object(
        'command', p.polcmd,
        'permissive', p.polpermissive,
        'using', pg_get_expr(p.polqual, p.polrelid),
        'check', pg_get_expr(p.polwithcheck, p.polrelid)
      )) order by p.polname)
      from pg_policy p
      where p.polrelid = c.oid and (p.polroles = '{0}' or exists (
        select from unnest(p.polroles) role (oid) where pg_has_role(${caller}, role.oid, 'usage')
      ))
    ), '[]') as policies
    from pg_class c
    where c.oid = 'basalt.realtime_channels'::regclass`)
  if (!is_restricted) return { statements: undefined }
  const ofCommand = (letter: string) =>
    policies.filter(({ command }) => command === letter || command === '*')
  return {
    statements: { subscribe: compile(ofCommand('r'), 'using'), send: compile(ofCommand('a'), 'check') },
  }
}

/** Compiles the policies; undefined if no policy permits anything. */
function compile(policies: readonly PolicyRow[], clause: 'using' | 'check'): Statement | undefined {
  const condition = combinePolicies(policies, clause)
  if (condition === undefined) return undefined
  // The function has the name of the table, because policies refer to that name.
  const text = render(sql`
    select realtime_channels.channel
    from json_array_elements_text(${''}::json) as realtime_channels (channel)
    where ${condition}`).text
  return statement(text)
}
