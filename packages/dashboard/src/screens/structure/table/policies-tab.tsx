import { useState } from 'react'
import { Link } from 'wouter'
import { accessLink } from '../../../links.ts'
import { Button } from '../../../ui/button.tsx'
import { DataTable } from '../../../ui/data-table.tsx'
import { Badge, Notice, Section, Toolbar } from '../../../ui/layout.tsx'
import { ActionsTitle } from '../actions-title.tsx'
import type { Policy, Relation } from '../api.ts'
import { GrantsForm } from '../forms/grants-form.tsx'
import { PolicyForm } from '../forms/policy-form.tsx'
import { TemplateForm } from '../forms/template-form.tsx'
import { useReview } from '../review/review-context.ts'
import styles from '../structure.module.css'

type Open = 'template' | 'new' | 'grants' | Policy

export function PoliciesTab({ relation }: { readonly relation: Relation }) {
  const { schema, name, policies, isRlsEnabled } = relation
  const [open, setOpen] = useState<Open>()
  const review = useReview()
  const close = () => setOpen(undefined)
  const setSecurity = (isEnabled: boolean) =>
    review({
      title: `${isEnabled ? 'Enable' : 'Disable'} row-level security of ${name}`,
      source: { change: { kind: 'set_row_level_security', schema, name, isEnabled } },
    })
  const collection = schema === 'public' ? name : `${schema}.${name}`
  return (
    <>
      <SecurityNotice relation={relation} />
      <Toolbar label="Policies">
        {isRlsEnabled ? (
          <Button onClick={() => setSecurity(false)}>Disable row-level security</Button>
        ) : (
          <Button look="primary" onClick={() => setSecurity(true)}>
            Enable row-level security
          </Button>
        )}
        <Button onClick={() => setOpen('template')}>Use a template</Button>
        <Button onClick={() => setOpen('new')}>Create a policy</Button>
        <Link href={accessLink({ table: collection })}>Who sees what?</Link>
      </Toolbar>
      <DataTable
        caption="Policies"
        rows={policies}
        rowKey={(policy) => policy.name}
        empty="The table has no policies."
        columns={[
          {
            key: 'name',
            title: 'Name',
            cell: ({ name: of, isPermissive }) => (
              <>
                {of} {!isPermissive && <Badge tone="accent">restrictive</Badge>}
              </>
            ),
          },
          { key: 'command', title: 'Command', cell: ({ command }) => command },
          { key: 'roles', title: 'Roles', isMinor: true, cell: ({ roles }) => roles.join(', ') },
          {
            key: 'using',
            title: 'Rows it shows',
            cell: ({ using }) => <code className={styles.code}>{using}</code>,
          },
          {
            key: 'check',
            title: 'Rows it accepts',
            isMinor: true,
            cell: ({ check }) => <code className={styles.code}>{check}</code>,
          },
          {
            key: 'actions',
            title: <ActionsTitle />,
            align: 'end',
            cell: (policy) => (
              <span className={styles.rowActions}>
                <Button size="small" aria-label={`Change ${policy.name}`} onClick={() => setOpen(policy)}>
                  Change
                </Button>
                <Button
                  size="small"
                  aria-label={`Drop ${policy.name}`}
                  onClick={() =>
                    review({
                      title: `Drop ${policy.name} of ${name}`,
                      source: { change: { kind: 'drop_policy', schema, name, policy: policy.name } },
                    })
                  }
                >
                  Drop
                </Button>
              </span>
            ),
          },
        ]}
      />
      <div className={styles.apart}>
        <Section
          title="Privileges of callers"
          actions={<Button onClick={() => setOpen('grants')}>Change privileges</Button>}
        >
          <p>
            Signed-in users: {relation.callers.authenticated.join(', ') || 'none'}. Without a token:{' '}
            {relation.callers.anonymous.join(', ') || 'none'}. Policies decide about the rows.
          </p>
        </Section>
      </div>
      {open === 'template' && <TemplateForm relation={relation} onClose={close} />}
      {open === 'grants' && <GrantsForm relation={relation} onClose={close} />}
      {open === 'new' && <PolicyForm relation={relation} policy={undefined} onClose={close} />}
      {typeof open === 'object' && <PolicyForm relation={relation} policy={open} onClose={close} />}
    </>
  )
}

function SecurityNotice({ relation: { isRlsEnabled, policies, callers } }: { readonly relation: Relation }) {
  const isReached = callers.authenticated.length + callers.anonymous.length > 0
  if (!isRlsEnabled) {
    return (
      <Notice tone="danger">
        Row-level security is off: policies do not hold
        {isReached ? ', and callers reach every row that their privileges allow.' : '.'}
      </Notice>
    )
  }
  if (policies.length > 0) return null
  return <Notice>Row-level security is on and there is no policy: only administrators see rows.</Notice>
}
