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
        // The test result belongs to the previous settings.
        test.reset()
      },
      failure: 'view',
    },
  )
  const reset = useAction(() => resetProvider(name), {
    invalidates,
    done: 'The configuration is used again.',
    onDone: onClose,
  })
  return (
    <SidePanel title={provider.display_name} onClose={onClose}>
      <h3>Redirect URI to register at the provider</h3>
      <Code label="Redirect URI">{provider.callback_url}</Code>
      <Form onSubmit={() => save.run()}>
        <Checkbox label="Users can sign in with this provider" checked={enabled} onChange={setEnabled} />
        <TextField
          label="Client id"
          hint={provider.client_id_configured ? 'Set. Leave empty to keep it.' : 'Not set'}
          value={clientId}
          onChange={setClientId}
          isCode
        />
        <TextField
          label="Client secret"
          hint={
            provider.client_secret_configured
              ? 'Set. Leave empty to keep it. It is never shown.'
              : 'Not set. It is stored encrypted.'
          }
          type="password"
          autoComplete="new-password"
          value={secret}
          onChange={setSecret}
        />
        <Checkbox
          label="Store the provider’s tokens"
          hint="Tokens are stored encrypted and renewed before they expire, to call the provider as the user."
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
          <strong>{test.result.success ? 'Works: ' : 'Failed: '}</strong>
          {test.result.message}
        </Notice>
      )}
      <p>
        <Link href={linkedUsersLink(name)}>Linked users</Link>
      </p>
    </SidePanel>
  )
}
