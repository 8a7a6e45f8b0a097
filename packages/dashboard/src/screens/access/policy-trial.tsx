import { useState } from 'react'
import { Link } from 'wouter'
import { useAction } from '../../api/queries.ts'
import { migrationLink } from '../../links.ts'
import { AsCode } from '../../ui/as-code.tsx'
import { Button } from '../../ui/button.tsx'
import { CodeEditor } from '../../ui/code-editor.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { Checkbox, Select } from '../../ui/field.tsx'
import { countOf } from '../../ui/format.ts'
import { Failure, Revealed } from '../../ui/states.tsx'
import styles from './access.module.css'
import { type Action, type Comparison, compare, type ExplainRequest, type Explanation } from './api.ts'
import { draftOf, editOf, hasCheck, hasUsing, newPolicy, type PolicyDraft } from './policy-draft.ts'
import { PolicyFields } from './policy-fields.tsx'
import { policyStatement } from './policy-statement.ts'

interface Props {
  readonly request: ExplainRequest
  readonly explanation: Explanation
}

const fresh = ''

/** Compares an edited policy with the current one: the rows that it would permit and refuse. No definition changes. */
export function PolicyTrial({ request, explanation: { policies, table, caller, action } }: Props) {
  const [chosen, setChosen] = useState(policies[0]?.name ?? fresh)
  const [drafts, setDrafts] = useState<Readonly<Record<string, PolicyDraft>>>({})
  const [isOnlyCaller, setOnlyCaller] = useState(false)
  const trial = useAction(compare, { failure: 'view' })
  const present = policies.find(({ name }) => name === chosen)
  const draft = drafts[chosen] ?? (present === undefined ? newPolicy(action) : draftOf(present))
  const change = (part: Partial<PolicyDraft>) => setDrafts({ ...drafts, [chosen]: { ...draft, ...part } })
  const policy = editOf(draft, present)
  const body = {
    table: table.collection,
    action,
    ...(request.filter === undefined ? {} : { filter: request.filter }),
    ...(request.ids === undefined ? {} : { ids: request.ids }),
    ...(isOnlyCaller ? { as: [request.as] } : {}),
    policy,
  }
  const statement = policyStatement(table, policy, present !== undefined)
  const title = `${present === undefined ? `Add ${policy.name} to` : `Change ${policy.name} of`} ${table.collection}`
  const hasExpression = policy.using !== undefined || policy.check !== undefined
  // A new policy has roles from the start, but means nothing without an expression.
  const isChanged = hasExpression || (present !== undefined && policy.roles !== undefined)
  const run = () => {
    if (isChanged) trial.run(body)
  }
  return (
    <>
      <div className={styles.query}>
        <Select
          label="Policy"
          value={chosen}
          onChange={setChosen}
          choices={[
            ...policies.map(({ name, command, permissive }) => ({
              value: name,
              label: `${name} (${command.toLowerCase()}${permissive ? '' : ', restrictive'})`,
            })),
            { value: fresh, label: 'A new policy' },
          ]}
        />
        <PolicyFields draft={draft} isNew={present === undefined} onChange={change} />
        <div className={styles.check}>
          <Checkbox label={`Only ${caller.label}`} checked={isOnlyCaller} onChange={setOnlyCaller} />
        </div>
      </div>
      <p>{meanings[action]} Press Ctrl or ⌘ and Enter to try it.</p>
      {hasUsing(draft.command) && (
        <>
          <p>USING: the rows that the policy applies to.</p>
          <CodeEditor
            label="USING expression"
            language="sql"
            value={draft.using}
            onChange={(using) => change({ using })}
            onRun={run}
          />
        </>
      )}
      {hasCheck(draft.command) && (
        <>
          <p>
            WITH CHECK: the rows that may be written
            {hasUsing(draft.command) ? '. If it is empty, USING applies.' : '.'}
          </p>
          <CodeEditor
            label="WITH CHECK expression"
            language="sql"
            value={draft.check}
            onChange={(check) => change({ check })}
            onRun={run}
          />
        </>
      )}
      <div className={styles.actions}>
        <Button variant="primary" disabled={!isChanged} isPending={trial.isPending} onClick={run}>
          Show changes
        </Button>
        <AsCode request={{ method: 'POST', path: '/api/admin/access/compare', body: body }} sql={statement} />
        {isChanged && <Link href={migrationLink(statement, title)}>Create a migration in Structure</Link>}
      </div>
      {trial.error !== null && <Failure error={trial.error} />}
      {trial.result !== undefined && (
        <Revealed>
          <Changes comparison={trial.result} action={action} />
        </Revealed>
      )}
    </>
  )
}

const meanings: Readonly<Record<Action, string>> = {
  select: 'Shows the rows that callers can read.',
  insert: 'Shows the existing rows that callers could insert.',
  update: 'Shows the rows that callers could store unchanged.',
  delete: 'Shows the rows that callers could delete.',
}

/** State of a row with and without the permission of the policy. */
const outcomes: Readonly<Record<Action, readonly [permitted: string, refused: string]>> = {
  select: ['shown', 'hidden'],
  insert: ['permitted', 'refused'],
  update: ['permitted', 'refused'],
  delete: ['permitted', 'refused'],
}

function Changes({
  comparison: { callers, rows },
  action,
}: {
  readonly comparison: Comparison
  readonly action: Action
}) {
  const [permitted, refused] = outcomes[action]
  const failures = [...new Set(callers.flatMap(({ errors }) => errors))]
  // Another policy may fail for one caller, but the edited one fails for all.
  const isBroken = callers.length > 0 && callers.every(({ errors }) => errors.length > 0)
  const changed = callers.filter(({ shown, hidden }) => shown.length + hidden.length > 0).length
  return (
    <>
      {changed === 0 && isBroken ? (
        <Failure error={`the expression fails: ${failures.join('; ')}`} />
      ) : (
        <p role="status">
          {changed === 0
            ? `Access does not change for ${countOf(callers.length, 'caller')} and ${countOf(rows, 'row')}.`
            : `Access changes for ${changed} of ${countOf(callers.length, 'caller')}, tested with ${countOf(rows, 'row')}.`}
        </p>
      )}
      <DataTable
        caption="Changes"
        rows={callers}
        rowKey={({ label }) => label}
        columns={[
          ['Caller', ({ label }) => label],
          [`Newly ${permitted}`, ({ shown }) => <Ids ids={shown} sign="+" />],
          [`Newly ${refused}`, ({ hidden }) => <Ids ids={hidden} sign="−" />],
          [`Still ${permitted}`, ({ kept }) => kept, 'end'],
          [`Still ${refused}`, ({ absent }) => absent, 'end'],
          [
            'Notes',
            ({ stopped, errors }) => [...(stopped === undefined ? [] : [stopped]), ...errors].join('; '),
          ],
        ]}
      />
    </>
  )
}

function Ids({ ids, sign }: { readonly ids: readonly (string | null)[]; readonly sign: string }) {
  if (ids.length === 0) return 'none'
  return `${sign}${ids.length}: ${ids.map((id) => id ?? '?').join(', ')}`
}
