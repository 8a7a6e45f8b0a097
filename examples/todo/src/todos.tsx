import { useLive, useMutation } from '@basaltdb/react'
import type { Row } from '../types/database.ts'
import { Attachment } from './attachment.tsx'
import { NewEntry } from './new-entry.tsx'

export function Todos({ list }: { list: Row<'list'> }) {
  const { items } = useLive('todo', { filter: { list_id: list.id }, sort: ['id'] })
  const create = useMutation('todo', 'create')
  const update = useMutation('todo', 'update')
  const remove = useMutation('todo', 'delete')

  return (
    <>
      <ul>
        {items.map((todo) => (
          <li key={todo.id}>
            <label>
              <input
                type="checkbox"
                checked={todo.done}
                onChange={() => update.mutate({ key: todo.id, changes: { done: !todo.done } })}
              />{' '}
              {todo.title}
            </label>
            <Attachment todo={todo} />
            <button type="button" aria-label={`delete ${todo.title}`} onClick={() => remove.mutate(todo.id)}>
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
