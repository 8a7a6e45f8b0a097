import { useState } from 'react'
import { sessionFetch } from '../../api/client.ts'
import { useAction } from '../../api/queries.ts'
import { Button } from '../../ui/button.tsx'
import { Code } from '../../ui/code.tsx'
import { TextField } from '../../ui/field.tsx'
import { Form } from '../../ui/layout.tsx'
import { Failure, Revealed } from '../../ui/states.tsx'

/** Maximum number of characters of a response to show. */
const shownLength = 20_000

/** Sends a request as the user, and shows the response. */
export function TryRequest({ token }: { readonly token: string }) {
  const [path, setPath] = useState('/api/collections/')
  const send = useAction(() => sendRequest(path, token), { failure: 'view' })
  const isOwn = path.startsWith('/api/')
  return (
    <Form onSubmit={() => send.run()}>
      <TextField
        label="Try a request as the user (GET)"
        hint="For example /api/collections/posts?perPage=5"
        error={isOwn ? undefined : 'Expected a path that starts with /api/'}
        value={path}
        onChange={setPath}
        isCode
      />
      <div>
        <Button type="submit" disabled={!isOwn} isPending={send.isPending}>
          Send
        </Button>
      </div>
      {send.error !== null && <Failure error={send.error} />}
      {send.result !== undefined && (
        <Revealed>
          <Code label="Response">{send.result}</Code>
        </Revealed>
      )}
    </Form>
  )
}

async function sendRequest(path: string, token: string): Promise<string> {
  const response = await sessionFetch(path, { headers: { authorization: `Bearer ${token}` } })
  const text = await response.text()
  const shown = text.length > shownLength ? `${text.slice(0, shownLength)}…` : text
  return `${response.status} ${response.statusText}\n\n${shown}`
}
