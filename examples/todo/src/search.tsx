import { useList } from '@basaltdb/react'
import { useState } from 'react'

/** Finds to-dos in all lists by their words. */
export function Search({ onChoose }: { onChoose: (listId: string) => void }) {
  const [words, setWords] = useState('')
  const { data } = useList('todo', { search: words, expand: { list: true } }, { enabled: words !== '' })

  return (
    <search>
      <input
        type="search"
        placeholder="search"
        aria-label="search"
        value={words}
        onChange={({ target }) => setWords(target.value)}
      />
      {words !== '' &&
        data?.items.map(({ id, title, list_id, expand: { list } }) => (
          <button key={id} type="button" onClick={() => onChoose(list_id)}>
            {title} in {list?.name}
          </button>
        ))}
    </search>
  )
}
