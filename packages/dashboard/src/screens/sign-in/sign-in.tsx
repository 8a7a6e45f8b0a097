import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useSearchParams } from 'wouter'
import { useAction, useApi } from '../../api/queries.ts'
import { AsCode } from '../../ui/as-code.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { Switch } from '../../ui/field.tsx'
import { Badge, PageHeader, Section } from '../../ui/layout.tsx'
import { Loaded } from '../../ui/states.tsx'
import { type AuthSettings, changeSettings, listProviders, type Provider, readSettings } from './api.ts'
import { ProviderPanel } from './provider-panel.tsx'

/** What each switch means. */
const switches: readonly (readonly [keyof AuthSettings, string, string])[] = [
  [
    'magic_link_enabled',
    'Sign-in links',
    'Users sign in by a link that is mailed to them. Makes the account when there is none.',
  ],
  [
    'sms_enabled',
    'Codes by SMS',
    'Users sign in by a code that is sent to their phone, and may use it as second factor.',
  ],
  [
    'anonymous_auth_enabled',
    'Anonymous users',
    'Anyone gets an account without saying who they are, and may link an address later.',
  ],
  ['totp_enabled', 'Authenticator app', 'A second factor: codes of an app.'],
  ['email_mfa_enabled', 'Codes by mail', 'A second factor: codes that are mailed.'],
  ['webauthn_enabled', 'Passkeys', 'To sign in by, or as second factor.'],
]

export function SignInSettingsScreen() {
  const settings = useApi(['auth-settings'], readSettings)
  return (
    <>
      <PageHeader
        title="Sign-in"
        actions={<AsCode request={{ method: 'GET', path: '/api/admin/auth-settings' }} />}
      >
        How users may sign in. A change is in force on every node within a second; email and password are
        always on.
      </PageHeader>
      <Section title="Ways to sign in">
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
                  { key: 'name', title: 'Provider', cell: (provider) => provider.display_name },
                  { key: 'state', title: 'State', cell: (provider) => <ProviderState provider={provider} /> },
                  {
                    key: 'source',
                    title: 'Settings from',
                    cell: ({ changed }) => (changed ? 'here' : 'the configuration'),
                    isMinor: true,
                  },
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
