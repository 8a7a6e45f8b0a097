import { useState } from 'react'
import { useAction, useApi } from '../../api/queries.ts'
import { Button } from '../../ui/button.tsx'
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { Section } from '../../ui/layout.tsx'
import { Menu } from '../../ui/menu.tsx'
import { Loaded } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import * as api from './api.ts'

/** Removal that has to be confirmed. */
interface Removal {
  readonly title: string
  readonly consequence: string
  readonly run: () => Promise<unknown>
}

export function UserSignInMethods({ id }: { readonly id: string }) {
  const [removal, setRemoval] = useState<Removal>()
  const remove = useAction(({ run }: Removal) => run(), {
    invalidates: [['users']],
    done: 'Removed.',
    onDone: () => setRemoval(undefined),
    failure: 'view',
  })
  return (
    <>
      <Factors id={id} onRemove={setRemoval} />
      <Passkeys id={id} onRemove={setRemoval} />
      <Identities id={id} onRemove={setRemoval} />
      {removal !== undefined && (
        <ConfirmDialog
          title={removal.title}
          action="Remove"
          isPending={remove.isPending}
          error={remove.error}
          onConfirm={() => remove.run(removal)}
          onClose={() => {
            remove.reset()
            setRemoval(undefined)
          }}
        >
          {removal.consequence}
        </ConfirmDialog>
      )}
    </>
  )
}

interface WaysProps {
  readonly id: string
  readonly onRemove: (removal: Removal) => void
}

function Factors({ id, onRemove }: WaysProps) {
  const factors = useApi(['users', 'factors', id], (signal) => api.listFactors(id, signal))
  return (
    <Section title="Second factors">
      <Loaded query={factors}>
        {(answer) => (
          <DataTable
            caption="Second factors"
            rows={answer.factors}
            rowKey={(factor) => factor.id}
            empty="None. The user signs in with one factor."
            columns={[
              { key: 'label', title: 'Factor', cell: ({ label }) => label },
              {
                key: 'remove',
                title: 'Actions',
                align: 'end',
                cell: (factor) => (
                  <Button
                    size="small"
                    aria-label={`Remove ${factor.label}`}
                    onClick={() =>
                      onRemove({
                        title: `Remove ${factor.label}?`,
                        consequence:
                          'The user can sign in without it. The backup codes are removed with the last factor.',
                        run: () => api.removeFactor(id, factor.id),
                      })
                    }
                  >
                    Remove
                  </Button>
                ),
              },
            ]}
          />
        )}
      </Loaded>
    </Section>
  )
}

function Passkeys({ id, onRemove }: WaysProps) {
  const passkeys = useApi(['users', 'passkeys', id], (signal) => api.listPasskeys(id, signal))
  return (
    <Section title="Passkeys">
      <Loaded query={passkeys}>
        {({ credentials }) => (
          <DataTable
            caption="Passkeys"
            rows={credentials}
            rowKey={(passkey) => passkey.credential_id}
            empty="None."
            columns={[
              { key: 'name', title: 'Name', cell: ({ display_name }) => display_name, isCut: true },
              { key: 'created', title: 'Added', cell: (passkey) => <Time value={passkey.created_at} /> },
              { key: 'used', title: 'Last used', cell: (passkey) => <Time value={passkey.last_used_at} /> },
              {
                key: 'remove',
                title: 'Actions',
                align: 'end',
                cell: (passkey) => (
                  <Button
                    size="small"
                    aria-label={`Remove ${passkey.display_name}`}
                    onClick={() =>
                      onRemove({
                        title: `Remove ${passkey.display_name}?`,
                        consequence: 'The user can no longer sign in with it.',
                        run: () => api.removePasskey(id, passkey.credential_id),
                      })
                    }
                  >
                    Remove
                  </Button>
                ),
              },
            ]}
          />
        )}
      </Loaded>
    </Section>
  )
}

function Identities({ id, onRemove }: WaysProps) {
  const identities = useApi(['users', 'identities', id], (signal) => api.listIdentities(id, signal))
  return (
    <Section title="Sign-in providers">
      <Loaded query={identities}>
        {(rows) => (
          <DataTable
            caption="Identities at providers"
            rows={rows}
            rowKey={({ provider, subject }) => `${provider} ${subject}`}
            empty="No linked providers."
            columns={[
              { key: 'provider', title: 'Provider', cell: ({ provider }) => provider },
              { key: 'name', title: 'Name', cell: ({ name }) => name ?? '–', isCut: true },
              { key: 'email', title: 'Provider email', cell: ({ email }) => email ?? '–', isCut: true },
              { key: 'proven', title: 'Sign-in enabled', cell: ({ proven }) => (proven ? 'yes' : 'not yet') },
              {
                key: 'last',
                title: 'Last sign-in',
                cell: ({ lastSignInAt }) => <Time value={lastSignInAt} />,
                isMinor: true,
              },
              {
                key: 'actions',
                title: 'Actions',
                align: 'end',
                cell: ({ provider }) => (
                  <Menu
                    label="Actions"
                    name={`Actions of ${provider}`}
                    size="small"
                    items={[
                      {
                        label: 'Unlink…',
                        isDangerous: true,
                        onSelect: () =>
                          onRemove({
                            title: `Unlink ${provider}?`,
                            consequence:
                              'The user can no longer sign in with it, even if it is the only sign-in method.',
                            run: () => api.unlink(id, provider),
                          }),
                      },
                      {
                        label: 'Remove stored tokens…',
                        onSelect: () =>
                          onRemove({
                            title: `Remove the tokens of ${provider}?`,
                            consequence: 'The tokens are no longer renewed. The user can still sign in.',
                            run: () => api.forgetProviderTokens(id, provider),
                          }),
                      },
                    ]}
                  />
                ),
              },
            ]}
          />
        )}
      </Loaded>
    </Section>
  )
}
