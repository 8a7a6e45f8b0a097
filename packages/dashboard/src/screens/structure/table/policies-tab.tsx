import { Link } from 'wouter'
import { usePermissions } from '../../../api/administrator.ts'
import { accessLink } from '../../../links.ts'
import { Button } from '../../../ui/button.tsx'
import { DataTable, RowActions } from '../../../ui/data-table.tsx'
import { Badge, Notice, Section, Toolbar } from '../../../ui/layout.tsx'
import type { Relation } from '../api.ts'
import { applyTemplate } from '../forms/apply-template.tsx'
import { useForm } from '../forms/form.tsx'
import { changePolicy, createPolicy } from '../forms/policy.ts'
import { setGrants } from '../forms/set-grants.ts'
import { useReview } from '../review/review-context.ts'
import styles from '../structure.module.css'

export function PoliciesTab({ relation }: { readonly relation: Relation }) {
  const { schema, name, policies, isRlsEnabled } = relation
  const form = useForm()
  const review = useReview()
  const may = usePermissions()
  const setSecurity = (isEnabled: boolean) =>
    review({
      title: `${isEnabled ? 'Enable' : 'Disable'} row-level security of ${name}`,
      change: { kind: 'set_row_level_security', schema, name, isEnabled },
    })
  const collection = schema === 'public' ? name : `${schema}.${name}`
  return (
    <>
      <SecurityNotice relation={relation} />
      <Toolbar label="Policies">
        {isRlsEnabled ? (
          <Button needs="change" onClick={() => setSecurity(false)}>
            Disable row-level security
          </Button>
        ) : (
          <Button variant="primary" needs="change" onClick={() => setSecurity(true)}>
            Enable row-level security
          </Button>
        )}
        <Button needs="change" onClick={() => form.open(applyTemplate(relation))}>
          Use a template
        </Button>
        <Button needs="change" onClick={() => form.open(createPolicy(relation))}>
          Create a policy
        </Button>
        {may('access.explain') && <Link href={accessLink({ table: collection })}>Who sees what?</Link>}
      </Toolbar>
      <DataTable
        caption="Policies"
        rows={policies}
        rowKey={(policy) => policy.name}
        empty="No policies yet. A policy controls which rows a user reads and writes."
        first={['Use a template', () => form.open(applyTemplate(relation))]}
        columns={[
          [
            'Name',
            ({ name: of, isPermissive }) => (
              <>
                {of} {!isPermissive && <Badge tone="accent">restrictive</Badge>}
              </>
            ),
          ],
          ['Command', ({ command }) => command],
          ['Roles', ({ roles }) => roles.join(', '), 'minor'],
          ['Visible rows', ({ using }) => <code className={styles.code}>{using}</code>],
          ['Accepted rows', ({ check }) => <code className={styles.code}>{check}</code>, 'minor'],
          [
            'Actions',
            (policy) => (
              <RowActions
                of={policy.name}
                actions={[
                  ['Change', () => form.open(changePolicy(relation, policy))],
                  [
                    'Drop',
                    () =>
                      review({
                        title: `Drop ${policy.name} of ${name}`,
                        change: { kind: 'drop_policy', schema, name, policy: policy.name },
                      }),
                  ],
                ]}
              />
            ),
            'actions',
          ],
        ]}
      />
      <div className={styles.apart}>
        <Section
          title="Caller privileges"
          actions={
            <Button needs="owner" onClick={() => form.open(setGrants(relation))}>
              Change privileges
            </Button>
          }
        >
          <p>
            Signed-in users: {relation.callers.authenticated.join(', ') || 'none'}. Without a token:{' '}
            {relation.callers.anonymous.join(', ') || 'none'}. Policies control access to rows.
          </p>
        </Section>
      </div>
      {form.dialog}
    </>
  )
}

function SecurityNotice({ relation: { isRlsEnabled, policies, callers } }: { readonly relation: Relation }) {
  const isReached = callers.authenticated.length + callers.anonymous.length > 0
  if (!isRlsEnabled) {
    return (
      <Notice tone="danger">
        Row-level security is off, so policies do not apply
        {isReached ? '. Callers can access every row that their privileges allow.' : '.'}
      </Notice>
    )
  }
  if (policies.length > 0) return null
  return <Notice>Row-level security is on without a policy, so only administrators see rows.</Notice>
}
