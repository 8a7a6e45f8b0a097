import { isBasaltError } from '@basaltdb/client'
import { type ReactNode, useEffect, useState } from 'react'
import { currentAdministrator } from '../api/administrator.ts'
import { sessionState } from '../api/session-state.ts'
import { stepUpState } from '../api/step-up.ts'
import { useStore } from '../api/store.ts'
import { Failure, Spinner } from '../ui/states.tsx'
import { EnrollmentPage, SessionEndedDialog, SignInPage, StepUpDialog } from './later-parts.tsx'
import { checkSession } from './session.ts'

/** Shows the page only with a session. When the session ends, the page stays unchanged below a sign-in dialog. */
export function SessionGate({ children }: { readonly children: ReactNode }) {
  const state = useStore(sessionState)
  const stepUp = useStore(stepUpState)
  const administrator = useStore(currentAdministrator)
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
  if (administrator?.mustEnroll === true) return <EnrollmentPage />
  return (
    <>
      {children}
      {state === 'ended' && <SessionEndedDialog />}
      {stepUp === 'open' && <StepUpDialog />}
    </>
  )
}
