import { useState } from 'react'
import { Link } from 'wouter'
import { useAction } from '../../api/queries.ts'
import { linkedUsersLink } from '../../links.ts'
import { Button } from '../../ui/button.tsx'
import { Code } from '../../ui/code.tsx'
import { Checkbox, TextField } from '../../ui/field.tsx'
import { Form, Notice } from '../../ui/layout.tsx'
import { SidePanel } from '../../ui/side-panel.tsx'
import { Failure } from '../../ui/states.tsx'
import { changeProvider, type Provider, resetProvider, testProvider } from './api.ts'

interface ProviderPanelProps {
  readonly provider: Provider
  readonly onClose: () => void
}

export function ProviderPanel({ provider, onClose }: ProviderPanelProps) {
  const { name } = provider
  const [enabled, setEnabled] = useState(provider.enabled)
  const [clientId, setClientId] = useState('')
  const [secret, setSecret] = useState('')
  const [storesTokens, setStoresTokens] = useState(provider.store_provider_tokens)
  const invalidates = [['providers']]
  const test = useAction(() => testProvider(name), { failure: 'view' })
  const save = useAction(
    () =>
      changeProvider(name, {
        enabled,
        store_provider_tokens: storesTokens,
        ...(clientId === '' ? {} : { client_id: clientId }),
        ...(secret === '' ? {} : { client_secret: secret }),
      }),
    {
      invalidates,
      done: 'Provider saved.',
      onDone() {
        setClientId('')
        setSecret('')
        // It was of the settings before.
        test.reset()
      },
      failure: 'view',
    },
  )
  const reset = useAction(() => resetProvider(name), {
    invalidates,
    done: 'The configuration is in force again.',
    onDone: onClose,
  })
  return (
    <SidePanel title={provider.display_name} onClose={onClose}>
      <h3>Redirect address to register there</h3>
      <Code label="Redirect address">{provider.callback_url}</Code>
      <Form onSubmit={() => save.run()}>
        <Checkbox label="Users may sign in with it" checked={enabled} onChange={setEnabled} />
        <TextField
          label="Client id"
          hint={provider.client_id_configured ? 'Set; empty: stays as it is' : 'Not set'}
          value={clientId}
          onChange={setClientId}
          isCode
        />
        <TextField
          label="Client secret"
          hint={
            provider.client_secret_configured
              ? 'Set; empty: stays as it is. It is never shown.'
              : 'Not set; stored encrypted'
          }
          type="password"
          autoComplete="new-password"
          value={secret}
          onChange={setSecret}
        />
        <Checkbox
          label="Keep the provider’s tokens"
          hint="Encrypted, and renewed before they expire, for calling the provider as the user."
          checked={storesTokens}
          onChange={setStoresTokens}
        />
        {save.error !== null && <Failure error={save.error} />}
        <div>
          <Button type="submit" variant="primary" isPending={save.isPending}>
            Save
          </Button>{' '}
          <Button isPending={test.isPending} onClick={() => test.run()}>
            Test
          </Button>{' '}
          <Button disabled={!provider.changed} isPending={reset.isPending} onClick={() => reset.run()}>
            Reset to the configuration
          </Button>
        </div>
      </Form>
      {test.error !== null && <Failure error={test.error} />}
      {test.result !== undefined && (
        <Notice tone={test.result.success ? 'ok' : 'danger'}>
          <strong>{test.result.success ? 'Works: ' : 'Does not work: '}</strong>
          {test.result.message}
        </Notice>
      )}
      <p>
        <Link href={linkedUsersLink(name)}>Users who are linked to it</Link>
      </p>
    </SidePanel>
  )
}
