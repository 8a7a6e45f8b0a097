import type { Audience } from './audience.ts'
import { comparableId } from './shared-rows.ts'

/** Identity whose audiences subscribe to tables. */
interface ListenerGroup {
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

/** Index that finds the identities affected by an event without visiting the others. */
export class ListenerIndex<Group extends ListenerGroup> {
  readonly #tables = new Map<string, TableListeners<Group>>()

  /** Tables that have streams. */
  get tables(): readonly string[] {
    return [...this.#tables.keys()]
  }

  /** Returns the number of streams that subscribe to a table. */
  countStreams(table: string): number {
    return this.#tables.get(table)?.streams ?? 0
  }

  /** Returns all groups that subscribe to a table. */
  all(table: string): Iterable<Group> {
    return this.#tables.get(table)?.groups ?? []
  }

  /** Returns the groups that subscribe to a table as one of the users, or as no user. */
  *ofUsers(table: string, users: ReadonlySet<string>): Iterable<Group> {
    const listeners = this.#tables.get(table)
    if (listeners === undefined) return
    yield* listeners.others
    for (const user of users) yield* listeners.byUser.get(user) ?? []
  }

  /** Adds a stream of an audience. Its group has the audience already. */
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

  /** Removes a stream of an audience. If it was the last stream, its group no longer has the audience. */
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
