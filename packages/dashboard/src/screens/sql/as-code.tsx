import { AsCode } from '../../ui/as-code.tsx'
import { quoteForShell } from '../../ui/curl.ts'
import type { RunBody } from './api.ts'

/** Shows a run as a request, for psql, the client and the command line. */
export function CodeOf({ body }: { readonly body: RunBody }) {
  const { query } = body
  return (
    <AsCode
      request={{ method: 'POST', path: '/api/admin/sql', body }}
      sql={query}
      client={`const { columns, rows } = await client.transport.request('POST', 'admin/sql', {\n  body: ${JSON.stringify(body)},\n  isRepeatable: false,\n})`}
      command={`basalt sql ${quoteForShell(query)}\npsql "$DATABASE_URL" -c ${quoteForShell(query)}`}
    />
  )
}
