import { useEffect, useState } from 'react'
import { usePermissions } from '../api/administrator.ts'
import { useApi } from '../api/queries.ts'
import { get } from '../api/request.ts'
import { useStore } from '../api/store.ts'
import { rowsLink, userLink } from '../links.ts'
import { screens } from '../screens.ts'
import { screenActions } from './actions.ts'
import { best } from './match.ts'

export type Command = {
  readonly id: string
  readonly title: string
  readonly kind: string
} & ({ readonly path: string } | { readonly run: () => void })

const mostScreens = 30
const mostTables = 12
const mostUsers = 6
const shortestUserSearch = 2
const typingPauseMs = 200

/** Returns the commands that match the input: actions of the view, screens, tables and users. */
export function useCommands(typed: string): readonly Command[] {
  const actions = useStore(screenActions).map(
    (action, index): Command => ({ id: `action-${index}`, kind: 'Action', ...action }),
  )
  const may = usePermissions()
  const mayRead = screens.filter(({ permission }) => may(permission))
  const screenCommands = mayRead.map(({ path, title, words }): Command & { readonly text: string } => ({
    id: `screen-${path}`,
    title,
    kind: 'Screen',
    path,
    text: `${title} ${words ?? ''}`,
  }))
  const isTyping = typed !== ''
  const search = useDebounced(typed)
  // The server searches the tables, because there may be twenty thousand.
  const tables = useApi(
    ['tables', 'palette', search],
    (signal) => get<'overview.tables'>('admin/tables', { search, limit: mostTables }, { signal }),
    { enabled: isTyping && search !== '' },
  )
  const users = useApi(
    ['users', 'palette', search],
    (signal) => get<'users.list'>('admin/users', { search, perPage: mostUsers }, { signal }),
    { enabled: search.length >= shortestUserSearch && may('users.read'), keepsPrevious: false },
  )
  return [
    ...best(actions, typed, ({ title }) => title, mostScreens),
    ...(isTyping ? best(screenCommands, typed, ({ text }) => text, mostScreens) : screenCommands),
    ...(isTyping
      ? best(tables.data?.items ?? [], typed, ({ collection }) => collection, mostTables).map(
          ({ collection }): Command => ({
            id: `table-${collection}`,
            title: collection,
            kind: 'Table',
            path: rowsLink(collection),
          }),
        )
      : []),
    // Users of the previous input are not shown, because only the server knows which users match.
    ...(search === typed && search.length >= shortestUserSearch ? (users.data?.items ?? []) : []).map(
      ({ id, email }): Command => ({
        id: `user-${id}`,
        title: email || id,
        kind: 'User',
        path: userLink(id),
      }),
    ),
  ]
}

/** Returns the input once it has not changed for a moment. */
function useDebounced(text: string): string {
  const [settled, setSettled] = useState(text)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), typingPauseMs)
    return () => clearTimeout(timer)
  }, [text])
  return settled
}
