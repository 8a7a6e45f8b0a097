import type { AsCodeProps } from './as-code.tsx'
import { Code } from './code.tsx'
import { formatCurl } from './curl.ts'
import { Dialog } from './dialog.tsx'

/** Shows the code of a view, one section for each language. */
export function AsCodeDialog({
  request,
  sql,
  client,
  command,
  onClose,
}: AsCodeProps & { readonly onClose: () => void }) {
  const parts = [
    ['HTTP request', request === undefined ? undefined : formatCurl(request, location.origin)],
    ['SQL', sql],
    ['Client', client],
    ['Command line', command],
  ] as const
  return (
    <Dialog title="As code" isOpen onClose={onClose}>
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
  )
}
