import { isBasaltError } from '@basaltdb/client'
import { type ReactNode, useEffect, useState } from 'react'
import { sessionState } from '../api/session-state.ts'
import { useStore } from '../api/store.ts'
import { Dialog } from '../ui/dialog.tsx'
import { Failure, Spinner } from '../ui/states.tsx'
import { checkSession } from './session.ts'
import { PasswordForm, SignInPage } from './sign-in.tsx'

/** Shows the page only with a session. When the session ends, the page stays unchanged below a sign-in dialog. */
export function SessionGate({ children }: { readonly children: ReactNode }) {
  const state = useStore(sessionState)
  const [failure, setFailure] = useState<unknown>()
  const [attempt, setAttempt] = useState(0)
  // biome-ignore lint/correctness/useExhaustiveDependencies: each attempt checks the session again.
  useEffect(() => {
    if (sessionState.get() !== 'checking') return
    checkSession().catch((error: unknown) => {
      if (isBasaltError(error) && error.status === 401) sessionState.set('signed-out')
      else setFailure(error)
    })
  }, [attempt])
  if (state === 'checking')
    return failure === undefined ? (
      <Spinner />
    ) : (
      <Failure
        error={failure}
        onRetry={() => {
          setFailure(undefined)
          setAttempt(attempt + 1)
        }}
      />
    )
  if (state === 'signed-out') return <SignInPage />
  return (
    <>
      {children}
      <Dialog title="Your session has ended" isOpen={state === 'ended'} size="small">
        <p>Sign in to continue. Your unsaved input is kept.</p>
        <PasswordForm />
      </Dialog>
    </>
  )
}
