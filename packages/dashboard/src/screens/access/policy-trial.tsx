import { useState } from 'react'
import { Link } from 'wouter'
import { useAction } from '../../api/queries.ts'
import { migrationLink } from '../../links.ts'
import { AsCode } from '../../ui/as-code.tsx'
import { Button } from '../../ui/button.tsx'
import { CodeEditor } from '../../ui/code-editor.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { Checkbox, Select, TextField } from '../../ui/field.tsx'
import { countOf } from '../../ui/format.ts'
import { Failure } from '../../ui/states.tsx'
import styles from './access.module.css'
import { type Comparison, compare, type ExplainRequest, type Explanation, type PolicyEdit } from './api.ts'
import { policyStatement } from './policy-statement.ts'

interface Props {
  readonly request: ExplainRequest
  readonly explanation: Explanation
}

const fresh = ''

/** An edited policy against the present one: what it would show and hide, without a change of a definition. */
export function PolicyTrial({ request, explanation: { policies, table, caller } }: Props) {
  const candidates = policies.filter(({ using }) => using !== null)
  const [name, setName] = useState(candidates[0]?.name ?? fresh)
  const [newName, setNewName] = useState('new policy')
  const chosen = candidates.find((policy) => policy.name === name)
  const [texts, setTexts] = useState<Readonly<Record<string, string>>>({})
  const [isPermissive, setPermissive] = useState(true)
  const [isOnlyCaller, setOnlyCaller] = useState(false)
  const trial = useAction(compare, { failure: 'view' })
  const using = texts[name] ?? chosen?.using ?? 'true'
  const policy: PolicyEdit =
    chosen === undefined
      ? { name: newName, using, permissive: isPermissive, command: commandOf(request) }
      : { name, using }
  const asked = {
    table: table.collection,
    action: request.action === 'insert' ? ('select' as const) : request.action,
    ...(request.filter === undefined ? {} : { filter: request.filter }),
    ...(request.ids === undefined ? {} : { ids: request.ids }),
    ...(isOnlyCaller ? { as: [request.as] } : {}),
    policy,
  }
  const statement = policyStatement(table.collection, policy, chosen !== undefined)
  const title =
    chosen === undefined
      ? `Add ${policy.name} to ${table.collection}`
      : `Change ${policy.name} of ${table.collection}`
  return (
    <>
      <div className={styles.question}>
        <Select
          label="Policy"
          value={name}
          onChange={setName}
          choices={[
            ...candidates.map((each) => ({
              value: each.name,
              label: `${each.name} (${each.command.toLowerCase()})`,
            })),
            { value: fresh, label: 'A new policy' },
          ]}
        />
        {chosen === undefined && (
          <>
            <TextField label="Name" value={newName} onChange={setNewName} maxLength={63} />
            <div className={styles.check}>
              <Checkbox label="permissive" checked={isPermissive} onChange={setPermissive} />
            </div>
          </>
        )}
        <div className={styles.check}>
          <Checkbox label={`only ${caller.label}`} checked={isOnlyCaller} onChange={setOnlyCaller} />
        </div>
      </div>
      <p id="trial-help">USING: which rows it is true for. Ctrl or ⌘ and Enter tries it.</p>
      <CodeEditor
        label="USING expression"
        language="sql"
        value={using}
        onChange={(text) => setTexts({ ...texts, [name]: text })}
        onRun={() => trial.run(asked)}
      />
      <div className={styles.actions}>
        <Button look="primary" isPending={trial.isPending} onClick={() => trial.run(asked)}>
          Show what changes
        </Button>
        <AsCode
          request={{ method: 'POST', path: '/api/admin/access/compare', body: asked }}
          sql={statement}
        />
        <Link href={migrationLink(statement, title)}>Make it a migration in Structure</Link>
      </div>
      {trial.error !== null && <Failure error={trial.error} />}
      {trial.result !== undefined && <Changes comparison={trial.result} />}
    </>
  )
}

function commandOf({ action }: ExplainRequest): string {
  return action === 'insert' ? 'SELECT' : action.toUpperCase()
}

function Changes({ comparison: { callers, rows } }: { readonly comparison: Comparison }) {
  const changed = callers.filter(({ shown, hidden }) => shown.length + hidden.length > 0).length
  return (
    <>
      <p role="status">
        {changed === 0
          ? `Nothing changes for ${countOf(callers.length, 'caller')} and ${countOf(rows, 'row')}.`
          : `Something changes for ${changed} of ${countOf(callers.length, 'caller')}, tried with ${countOf(rows, 'row')}.`}
      </p>
      <DataTable
        caption="What changes"
        rows={callers}
        rowKey={({ label }) => label}
        columns={[
          { key: 'label', title: 'Caller', cell: ({ label }) => label },
          { key: 'shown', title: 'Newly shown', cell: ({ shown }) => <Ids ids={shown} sign="+" /> },
          { key: 'hidden', title: 'Newly hidden', cell: ({ hidden }) => <Ids ids={hidden} sign="−" /> },
          { key: 'kept', title: 'Shown as before', align: 'end', cell: ({ kept }) => kept },
          { key: 'absent', title: 'Hidden as before', align: 'end', cell: ({ absent }) => absent },
          {
            key: 'notes',
            title: 'Notes',
            cell: ({ stopped, errors }) =>
              [...(stopped === undefined ? [] : [stopped]), ...errors].join('; '),
          },
        ]}
      />
    </>
  )
}

function Ids({ ids, sign }: { readonly ids: readonly (string | null)[]; readonly sign: string }) {
  if (ids.length === 0) return 'none'
  return `${sign}${ids.length}: ${ids.map((id) => id ?? '?').join(', ')}`
}
