import { files } from '@basaltdb/client/files'
import { useClient, useMutation, useUpload } from '@basaltdb/react'
import type { Row } from '../types/database.ts'

/** File of a to-do: a link to open it, or a field to choose one. */
export function Attachment({ todo }: { todo: Row<'todo'> }) {
  const bucket = files(useClient()).bucket('attachments')
  const upload = useUpload('attachments')
  const update = useMutation('todo', 'update')

  function attach(file: File) {
    const name = `${todo.list_id}/${todo.id}/${file.name}`
    const onSuccess = () => update.mutate({ key: todo.id, changes: { attachment: name } })
    upload.mutate({ name, content: file, contentType: file.type }, { onSuccess })
  }
  async function show(name: string) {
    open(await bucket.sign(name, { expiresIn: 60 }), '_blank', 'noopener')
  }

  const { attachment } = todo
  if (attachment !== null) {
    return (
      <button type="button" onClick={() => show(attachment)}>
        {attachment.split('/').at(-1)}
      </button>
    )
  }
  if (upload.isPending) return <progress value={upload.progress?.loaded} max={upload.progress?.total} />
  return (
    <>
      <input
        type="file"
        aria-label={`attach a file to ${todo.title}`}
        onChange={({ target }) => {
          const file = target.files?.[0]
          if (file !== undefined) attach(file)
        }}
      />
      {upload.error?.message}
    </>
  )
}
