import { currentAdministrator } from '../api/administrator.ts'
import { getPasskey } from '../api/passkeys.ts'
import { type Body, post } from '../api/request.ts'
import { stepUpState } from '../api/step-up.ts'
import { useStore } from '../api/store.ts'
import { Button } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { ProviderButton, useSignInMethods } from './provider.tsx'
import { SecondFactorForm } from './second-factor-form.tsx'

/** Requests a second factor before a sensitive operation, which is then repeated. */
export function StepUpDialog() {
  const isOpen = useStore(stepUpState) === 'open'
  const administrator = useStore(currentAdministrator)
  const provider = useSignInMethods()?.provider?.name
  // An enrolled factor proves more than a new sign-in does.
  const byProvider = administrator?.hasIdentity === true && !administrator.hasSecondFactor
  const cancel = () => stepUpState.set('cancelled')
  const prove = async (body: Body<'administrators.stepUp'>) => {
    await post<'administrators.stepUp'>('admin/account/step-up', body)
    stepUpState.set('idle')
  }
  return (
    <Dialog title="Confirm that it is you" isOpen={isOpen} size="small" onClose={cancel}>
      {isOpen && byProvider && (
        <>
          <p>This operation requires a new sign-in with {provider}. It is valid for ten minutes.</p>
          <ProviderButton
            label={`Sign in with ${provider}`}
            begin={() => post<'companySignIn.stepUp'>('admin/account/step-up/oidc', {})}
            onReturn={async () => stepUpState.set('idle')}
          />
          <Button variant="plain" onClick={cancel}>
            Cancel
          </Button>
        </>
      )}
      {!byProvider && <p>This operation requires your second factor. It is valid for ten minutes.</p>}
      {isOpen && !byProvider && (
        <SecondFactorForm
          action="Confirm"
          onCode={(code) => prove({ code })}
          onPasskey={async () =>
            prove(
              await getPasskey(
                await post<'administrators.challengePasskey'>('admin/account/passkeys/challenge'),
              ),
            )
          }
          onCancel={cancel}
        />
      )}
    </Dialog>
  )
}
