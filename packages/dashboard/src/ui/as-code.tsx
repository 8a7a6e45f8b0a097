import { useState } from 'react'
import { Button } from './button.tsx'
import { Code } from './code.tsx'
import { formatCurl, type RequestExample } from './curl.ts'
import { Dialog } from './dialog.tsx'

export interface AsCodeProps {
  readonly request?: RequestExample | undefined
  readonly sql?: string | undefined
  /** Code with `@basaltdb/client`: `await client.from('posts').list()`. */
  readonly client?: string | undefined
  /** Command line: `basalt policy test`. */
  readonly command?: string | undefined
}

/** Shows the view as code, for use in a program. */
export function AsCode({ request, sql, client, command }: AsCodeProps) {
  const [isOpen, setOpen] = useState(false)
  const parts = [
    ['HTTP request', request === undefined ? undefined : formatCurl(request, location.origin)],
    ['SQL', sql],
    ['Client', client],
    ['Command line', command],
  ] as const
  return (
    <>
      <Button onClick={() => setOpen(true)}>As code</Button>
      <Dialog title="As code" isOpen={isOpen} onClose={() => setOpen(false)}>
        {parts.map(
          ([label, text]) =>
            text !== undefined && (
              <section key={label}>
                <h3>{label}</h3>
                <Code label={label}>{text}</Code>
              </section>
            ),
        )}
      </Dialog>
    </>
  )
}
