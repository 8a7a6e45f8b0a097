import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useSearchParams } from 'wouter'
import { useAction, useApi } from '../../api/queries.ts'
import { DataTable } from '../../ui/data-table.tsx'
import { Switch } from '../../ui/field.tsx'
import { Badge, PageHeader, Section } from '../../ui/layout.tsx'
import { Loaded } from '../../ui/states.tsx'
import { type AuthSettings, changeSettings, listProviders, type Provider, readSettings } from './api.ts'
import { ProviderPanel } from './provider-panel.tsx'

/** Settings with their labels and hints. */
const switches: readonly (readonly [keyof AuthSettings, string, string])[] = [
  [
    'magic_link_enabled',
    'Sign-in links',
    'Users sign in with a mailed link. Creates an account if there is none.',
  ],
  [
    'sms_enabled',
    'Codes by SMS',
    'Users sign in with a code sent to their phone, and can use it as a second factor.',
  ],
  [
    'anonymous_auth_enabled',
    'Anonymous users',
    'Anyone can create an account without an email address, and link one later.',
  ],
  ['totp_enabled', 'Authenticator app', 'Second factor: codes of an authenticator app.'],
  ['email_mfa_enabled', 'Codes by mail', 'Second factor: mailed codes.'],
  ['webauthn_enabled', 'Passkeys', 'For sign-in, or as a second factor.'],
]

export function SignInSettingsScreen() {
  const settings = useApi(['auth-settings'], readSettings)
  return (
    <>
      <PageHeader title="Sign-in" asCode={{ request: { method: 'GET', path: '/api/admin/auth-settings' } }}>
        Sign-in methods of users. Changes apply on every node within a second. Email and password are always
        enabled.
      </PageHeader>
      <Section title="Sign-in methods">
        <Loaded query={settings}>{(current) => <Switches current={current} />}</Loaded>
      </Section>
      <Providers />
    </>
  )
}

function Switches({ current }: { readonly current: AuthSettings }) {
  const queries = useQueryClient()
  const [chosen, setChosen] = useState<Partial<AuthSettings>>({})
  const save = useAction(changeSettings, {
    done: 'Saved.',
    onDone: (stored) => queries.setQueryData(['auth-settings'], stored),
  })
  const shown = save.isPending ? { ...current, ...chosen } : current
  return (
    <>
      {switches.map(([name, label, hint]) => (
        <Switch
          key={name}
          label={label}
          hint={hint}
          checked={shown[name]}
          disabled={save.isPending}
          onChange={(isOn) => {
            const change = { [name]: isOn }
            setChosen(change)
            save.run(change)
          }}
        />
      ))}
    </>
  )
}

function Providers() {
  const providers = useApi(['providers'], listProviders)
  const [parameters, setParameters] = useSearchParams()
  const chosen = parameters.get('provider')
  return (
    <Section title="Sign-in providers">
      <Loaded query={providers}>
        {({ providers: rows }) => {
          const selected = rows.find(({ name }) => name === chosen)
          return (
            <>
              <DataTable
                caption="Sign-in providers"
                rows={rows}
                rowKey={({ name }) => name}
                href={({ name }) => `/sign-in-settings?provider=${encodeURIComponent(name)}`}
                selectedKey={selected?.name}
                columns={[
                  ['Provider', (provider) => provider.display_name],
                  ['State', (provider) => <ProviderState provider={provider} />],
                  ['Settings from', ({ changed }) => (changed ? 'Dashboard' : 'Configuration'), 'minor'],
                ]}
              />
              {selected !== undefined && (
                <ProviderPanel
                  key={selected.name}
                  provider={selected}
                  onClose={() => setParameters({}, { replace: true })}
                />
              )}
            </>
          )
        }}
      </Loaded>
    </Section>
  )
}

function ProviderState({ provider: { enabled, missing } }: { readonly provider: Provider }) {
  if (!enabled) return <Badge>off</Badge>
  return missing === null ? <Badge tone="ok">on</Badge> : <Badge tone="warning">{missing} is not set</Badge>
}
