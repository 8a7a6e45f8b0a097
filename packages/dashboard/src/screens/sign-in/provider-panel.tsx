import { Link } from 'wouter'
import { useAction } from '../../api/queries.ts'
import { linkedUsersLink } from '../../links.ts'
import { Button } from '../../ui/button.tsx'
import { Code } from '../../ui/code.tsx'
import { checkbox, code, text } from '../../ui/fields.tsx'
import { InlineForm } from '../../ui/form-dialog.tsx'
import { Notice } from '../../ui/layout.tsx'
import { SidePanel } from '../../ui/side-panel.tsx'
import { Failure } from '../../ui/states.tsx'
import { changeProvider, type Provider, resetProvider, testProvider } from './api.ts'

interface ProviderPanelProps {
  readonly provider: Provider
  readonly onClose: () => void
}

export function ProviderPanel({ provider, onClose }: ProviderPanelProps) {
  const { name } = provider
  const invalidates = [['providers']]
  const test = useAction(() => testProvider(name), { failure: 'view' })
  const reset = useAction(() => resetProvider(name), {
    invalidates,
    done: 'The configuration is used again.',
    onDone: onClose,
  })
  return (
    <SidePanel title={provider.display_name} onClose={onClose}>
      <h3>Redirect URI to register at the provider</h3>
      <Code label="Redirect URI">{provider.callback_url}</Code>
      <InlineForm
        action="Save"
        start={{
          enabled: provider.enabled,
          client_id: '',
          client_secret: '',
          store_provider_tokens: provider.store_provider_tokens,
        }}
        fields={() => ({
          enabled: checkbox('Users can sign in with this provider'),
          client_id: code('Client id', {
            hint: provider.client_id_configured ? 'Set. Leave empty to keep it.' : 'Not set',
          }),
          client_secret: text('Client secret', {
            hint: provider.client_secret_configured
              ? 'Set. Leave empty to keep it. It is never shown.'
              : 'Not set. It is stored encrypted.',
            type: 'password',
            autoComplete: 'new-password',
          }),
          store_provider_tokens: checkbox('Store the provider’s tokens', {
            hint: 'Tokens are stored encrypted and renewed before they expire, to call the provider as the user.',
          }),
        })}
        send={({ client_id, client_secret, ...rest }) =>
          changeProvider(name, {
            ...rest,
            ...(client_id !== '' && { client_id }),
            ...(client_secret !== '' && { client_secret }),
          })
        }
        invalidates={invalidates}
        cleared={{ client_id: '', client_secret: '' }}
        done="Provider saved."
        // The test result belongs to the previous settings.
        onDone={() => test.reset()}
        buttons={
          <>
            <Button isPending={test.isPending} onClick={() => test.run()}>
              Test
            </Button>{' '}
            <Button disabled={!provider.changed} isPending={reset.isPending} onClick={() => reset.run()}>
              Reset to the configuration
            </Button>
          </>
        }
      />
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
