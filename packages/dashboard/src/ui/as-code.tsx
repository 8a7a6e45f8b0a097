import { useState } from 'react'
import { Button } from './button.tsx'
import type { RequestExample } from './curl.ts'
import { later } from './later.tsx'

export interface AsCodeProps {
  readonly request?: RequestExample | undefined
  readonly sql?: string | undefined
  /** Code with `@basaltdb/client`: `await client.from('posts').list()`. */
  readonly client?: string | undefined
  /** Command line: `basalt policy test`. */
  readonly command?: string | undefined
}

const AsCodeDialog = later(async () => (await import('./as-code-dialog.tsx')).AsCodeDialog)

/** Shows the view as code, for use in a program. */
export function AsCode(props: AsCodeProps) {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <Button onClick={() => setOpen(true)}>As code</Button>
      {isOpen && <AsCodeDialog {...props} onClose={() => setOpen(false)} />}
    </>
  )
}
