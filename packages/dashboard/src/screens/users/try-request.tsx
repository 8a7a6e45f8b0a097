import { sessionFetch } from '../../api/client.ts'
import { Code } from '../../ui/code.tsx'
import { code } from '../../ui/fields.tsx'
import { InlineForm } from '../../ui/form-dialog.tsx'
import { Revealed } from '../../ui/states.tsx'

/** Maximum number of characters of a response to show. */
const shownLength = 20_000

const isOwn = (path: string) => path.startsWith('/api/')

/** Sends a request as the user, and shows the response. */
export function TryRequest({ token }: { readonly token: string }) {
  return (
    <InlineForm
      action="Send"
      isPrimary={false}
      start={{ path: '/api/collections/' }}
      fields={({ path }) => ({
        path: code('Try a request as the user (GET)', {
          hint: 'For example /api/collections/posts?perPage=5',
          error: isOwn(path) ? undefined : 'Expected a path that starts with /api/',
        }),
      })}
      isReady={({ path }) => isOwn(path)}
      send={({ path }) => sendRequest(path, token)}
    >
      {(response) =>
        response !== undefined && (
          <Revealed>
            <Code label="Response">{response}</Code>
          </Revealed>
        )
      }
    </InlineForm>
  )
}

async function sendRequest(path: string, token: string): Promise<string> {
  const response = await sessionFetch(path, { headers: { authorization: `Bearer ${token}` } })
  const text = await response.text()
  const shown = text.length > shownLength ? `${text.slice(0, shownLength)}…` : text
  return `${response.status} ${response.statusText}\n\n${shown}`
}
