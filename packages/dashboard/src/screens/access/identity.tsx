import { Code } from '../../ui/code.tsx'
import { KeyValue } from '../../ui/layout.tsx'
import type { Explanation } from './api.ts'

/** Shows the role and the settings with which the transaction of a request starts. */
export function Identity({ explanation: { caller, psql } }: { readonly explanation: Explanation }) {
  const { role, settings, grant } = caller
  return (
    <>
      <KeyValue
        pairs={[
          ['Caller', caller.label],
          ['Role', <code key="role">{role}</code>],
          ...Object.entries(settings).map(
            ([name, value]) =>
              [name, value === '' ? <em key={name}>empty</em> : <code key={name}>{value}</code>] as const,
          ),
          ...(grant === null
            ? []
            : ([
                ['May write', grant.mayWrite ? 'yes' : 'no'],
                ['Tables', grant.tables === null ? 'all' : grant.tables.join(', ')],
              ] as const)),
        ]}
      />
      <h3>psql script</h3>
      <Code label="Script for psql">{psql}</Code>
    </>
  )
}
