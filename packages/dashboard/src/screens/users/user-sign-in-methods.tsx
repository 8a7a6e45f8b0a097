import { useState } from 'react'
import { useApi } from '../../api/queries.ts'
import { ConfirmAction } from '../../ui/confirm-dialog.tsx'
import { RowActions } from '../../ui/data-table.tsx'
import { Section } from '../../ui/layout.tsx'
import { List, rowsOf } from '../../ui/list.tsx'
import { Menu } from '../../ui/menu.tsx'
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
  return (
    <>
      <Factors id={id} onRemove={setRemoval} />
      <Passkeys id={id} onRemove={setRemoval} />
      <Identities id={id} onRemove={setRemoval} />
      {removal !== undefined && (
        <ConfirmAction
          title={removal.title}
          action="Remove"
          send={removal.run}
          invalidates={[['users']]}
          done="Removed."
          onClose={() => setRemoval(undefined)}
        >
          {removal.consequence}
        </ConfirmAction>
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
      <List
        caption="Second factors"
        of={rowsOf(factors, (answer) => answer.factors)}
        empty="No second factor. The user signs in with one factor, and enrols others in your app."
        columns={[
          ['Factor', ({ label }) => label],
          [
            'Actions',
            (factor) => (
              <RowActions
                of={factor.label}
                actions={[
                  [
                    'Remove',
                    () =>
                      onRemove({
                        title: `Remove ${factor.label}?`,
                        consequence:
                          'The user can sign in without it. The backup codes are removed with the last factor.',
                        run: () => api.removeFactor(id, factor.id),
                      }),
                    'owner',
                  ],
                ]}
              />
            ),
            'end',
          ],
        ]}
      />
    </Section>
  )
}

function Passkeys({ id, onRemove }: WaysProps) {
  const passkeys = useApi(['users', 'passkeys', id], (signal) => api.listPasskeys(id, signal))
  return (
    <Section title="Passkeys">
      <List
        caption="Passkeys"
        of={rowsOf(passkeys, ({ credentials }) => credentials)}
        rowKey={(passkey) => passkey.credential_id}
        empty="No passkeys. With one, the user signs in by the lock of a device, without a password."
        columns={[
          ['Name', ({ display_name }) => display_name, 'cut'],
          ['Added', (passkey) => <Time value={passkey.created_at} />],
          ['Last used', (passkey) => <Time value={passkey.last_used_at} />],
          [
            'Actions',
            (passkey) => (
              <RowActions
                of={passkey.display_name}
                actions={[
                  [
                    'Remove',
                    () =>
                      onRemove({
                        title: `Remove ${passkey.display_name}?`,
                        consequence: 'The user can no longer sign in with it.',
                        run: () => api.removePasskey(id, passkey.credential_id),
                      }),
                    'owner',
                  ],
                ]}
              />
            ),
            'end',
          ],
        ]}
      />
    </Section>
  )
}

function Identities({ id, onRemove }: WaysProps) {
  const identities = useApi(['users', 'identities', id], (signal) => api.listIdentities(id, signal))
  return (
    <Section title="Sign-in providers">
      <List
        caption="Identities at providers"
        of={identities}
        rowKey={({ provider, subject }) => `${provider} ${subject}`}
        empty="No linked providers. A user who signs in with one, such as Google, is listed here with it."
        first={['Sign-in providers', '/sign-in-settings', 'owner']}
        columns={[
          ['Provider', ({ provider }) => provider],
          ['Name', ({ name }) => name ?? '–', 'cut'],
          ['Provider email', ({ email }) => email ?? '–', 'cut'],
          ['Sign-in enabled', ({ proven }) => (proven ? 'yes' : 'not yet')],
          ['Last sign-in', ({ lastSignInAt }) => <Time value={lastSignInAt} />, 'minor'],
          [
            'Actions',
            ({ provider }) => (
              <Menu
                label="Actions"
                name={`Actions of ${provider}`}
                size="small"
                items={[
                  {
                    label: 'Unlink…',
                    needs: 'change',
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
                    needs: 'change',
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
            'actions',
          ],
        ]}
      />
    </Section>
  )
}
