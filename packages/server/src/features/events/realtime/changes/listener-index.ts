import type { Audience } from './audience.ts'
import { comparableId } from './shared-rows.ts'

/** An identity whose audiences listen to tables. */
interface Listening {
  readonly audiences: ReadonlyMap<string, { readonly audience: Audience }>
}

/** Listeners of one table. */
interface TableListeners<Group> {
  readonly groups: Set<Group>
  /** Listeners by the id of their user, which rows may name. */
  readonly byUser: Map<string, Set<Group>>
  /** Listeners of identities without such an id. */
  readonly others: Set<Group>
  streams: number
}

/** Finds the identities that an event may concern, without a look at all others. */
export class ListenerIndex<Group extends Listening> {
  readonly #tables = new Map<string, TableListeners<Group>>()

  /** Tables that have streams. */
  get tables(): readonly string[] {
    return [...this.#tables.keys()]
  }

  /** Returns how many streams listen to a table. */
  countStreams(table: string): number {
    return this.#tables.get(table)?.streams ?? 0
  }

  /** Returns all that listen to a table. */
  all(table: string): Iterable<Group> {
    return this.#tables.get(table)?.groups ?? []
  }

  /** Returns those that listen to a table as one of the users, or as no user. */
  *ofUsers(table: string, users: ReadonlySet<string>): Iterable<Group> {
    const listeners = this.#tables.get(table)
    if (listeners === undefined) return
    yield* listeners.others
    for (const user of users) yield* listeners.byUser.get(user) ?? []
  }

  /** Adds a stream of an audience, which its group has already. */
  add(group: Group, { scope, subscriptions }: Audience): void {
    const user = comparableId(scope)
    for (const table of subscriptions.keys()) {
      const listeners = this.#tables.get(table) ?? {
        groups: new Set(),
        byUser: new Map(),
        others: new Set(),
        streams: 0,
      }
      this.#tables.set(table, listeners)
      listeners.streams += 1
      listeners.groups.add(group)
      if (user === undefined) listeners.others.add(group)
      else listeners.byUser.set(user, (listeners.byUser.get(user) ?? new Set()).add(group))
    }
  }

  /** Removes a stream of an audience; its group is without the audience when that was its last stream. */
  remove(group: Group, { scope, subscriptions }: Audience): void {
    const user = comparableId(scope)
    for (const table of subscriptions.keys()) {
      const listeners = this.#tables.get(table)
      if (listeners === undefined) continue
      listeners.streams -= 1
      if (listeners.streams === 0) this.#tables.delete(table)
      if ([...group.audiences.values()].some(({ audience }) => audience.subscriptions.has(table))) continue
      listeners.groups.delete(group)
      listeners.others.delete(group)
      const ofUser = user === undefined ? undefined : listeners.byUser.get(user)
      ofUser?.delete(group)
      if (user !== undefined && ofUser?.size === 0) listeners.byUser.delete(user)
    }
  }
}
