import { useAuth, useClient, useLive, useMutation, useUser } from '@basaltdb/react'
import { useEffect, useState } from 'react'
import { NewEntry } from './new-entry.tsx'
import { Search } from './search.tsx'
import { Todos } from './todos.tsx'

/** Lists of the user, and those that others share with them. */
export function Lists() {
  const { user } = useUser()
  const { signOut } = useAuth()
  const { items: lists, refresh } = useLive('list', { sort: ['name'] })
  const create = useMutation('list', 'create')
  const [chosen, choose] = useState<string>()
  useJoin(refresh)
  const list = lists.find(({ id }) => id === chosen) ?? lists[0]

  return (
    <main>
      <header>
        <h1>To do</h1>
        <button type="button" onClick={() => signOut()}>
          Sign out {user?.email}
        </button>
      </header>
      <Search onChoose={choose} />
      <nav>
        {lists.map(({ id, name }) => (
          <button key={id} type="button" aria-current={id === list?.id} onClick={() => choose(id)}>
            {name}
          </button>
        ))}
      </nav>
      {list && <Todos key={list.id} list={list} />}
      <NewEntry label="new list" onEnter={(name) => create.mutate({ name })} />
    </main>
  )
}

/** Joins the list of the link that was opened. */
function useJoin(onJoined: () => void) {
  const client = useClient()
  useEffect(() => {
    const [, invitation] = /^#join=(.+)$/.exec(location.hash) ?? []
    if (invitation === undefined) return
    history.replaceState(null, '', location.pathname)
    client.rpc('join_list', { invitation }).then(onJoined, ({ message }: Error) => alert(message))
  }, [client, onJoined])
}
