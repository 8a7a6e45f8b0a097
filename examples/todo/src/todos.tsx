import { useLive, useMutation } from '@basaltdb/react'
import type { Row } from '../types/database.ts'
import { NewEntry } from './new-entry.tsx'

export function Todos({ list }: { list: Row<'list'> }) {
  const { items } = useLive('todo', { filter: { list_id: list.id }, sort: ['id'] })
  const create = useMutation('todo', 'create')
  const update = useMutation('todo', 'update')
  const remove = useMutation('todo', 'delete')

  return (
    <>
      <ul>
        {items.map(({ id, title, done }) => (
          <li key={id}>
            <label>
              <input
                type="checkbox"
                checked={done}
                onChange={() => update.mutate({ key: id, changes: { done: !done } })}
              />{' '}
              {title}
            </label>
            <button type="button" aria-label={`delete ${title}`} onClick={() => remove.mutate(id)}>
              ×
            </button>
          </li>
        ))}
      </ul>
      <NewEntry label="new to-do" onEnter={(title) => create.mutate({ list_id: list.id, title })} />
      <p>
        <a href={`#join=${list.invitation}`}>Link to share this list</a>
      </p>
    </>
  )
}
