import { isBasaltError } from '@basaltdb/client'
import { useState } from 'react'
import { queryClient, useAction, useApi } from '../api/queries.ts'
import { get, post } from '../api/request.ts'
import { sessionState } from '../api/session-state.ts'
import { Button } from '../ui/button.tsx'
import { checkSession, pendingToken } from './session.ts'

const readMethods = (signal: AbortSignal) => get<'admin.signInMethods'>('admin/auth/methods', {}, { signal })

/** Returns the ways in which administrators sign in; undefined until they are known. */
export function useSignInMethods() {
  return useApi(['sign-in methods'], readMethods).data
}

/** Begins a sign-in with the provider, which returns to this page. */
export async function beginProviderSignIn(): Promise<{ readonly url: string }> {
  const returnTo = location.pathname + location.search
  return await post<'companySignIn.start'>('admin/auth/oidc', { returnTo })
}

/** Continues with the session that a sign-in in another window has started. @throws Error if there is none yet */
export async function resumeSession(): Promise<void> {
  try {
    await checkSession()
  } catch (error) {
    if (isBasaltError(error) && error.status === 401) throw new Error('The sign-in is not complete yet.')
    throw error
  }
  await queryClient.invalidateQueries()
}

/**
 * Reads the fragment of the address: the code of a link, or a sign-in with the provider that waits for a second factor.
 *
 * @returns the code; null without one
 */
export function readFragment(): string | null {
  const values = new URLSearchParams(location.hash.slice(1))
  const token = values.get('mfa_token')
  if (token !== null) {
    pendingToken.set(token)
    history.replaceState(null, '', location.pathname + location.search)
  }
  return values.get('code')
}

interface ProviderButtonProps {
  /** Label: `Sign in with Example Ltd`. */
  readonly label: string
  /** Begins the request. @returns the address of the provider */
  readonly begin: () => Promise<{ readonly url: string }>
  /** Continues after the provider, where the page stays open. */
  readonly onReturn: () => Promise<unknown>
}

/**
 * Opens the provider of the company. A page with input stays open: the provider is shown in a new window, after which a
 * press continues.
 */
export function ProviderButton({ label, begin, onReturn }: ProviderButtonProps) {
  const [isOpened, setOpened] = useState(false)
  const open = useAction(
    async (shown: Window | null) => {
      const { url } = await begin()
      const opener = shown ?? window
      opener.location.assign(url)
      setOpened(shown !== null)
    },
    { failure: 'view' },
  )
  const proceed = useAction(onReturn, { failure: 'view' })
  const error = open.error ?? proceed.error
  return (
    <>
      {error !== null && <p role="alert">{error.message}</p>}
      <Button
        variant="primary"
        isPending={open.isPending}
        // Browsers block windows that are opened later than the press.
        onClick={() => open.run(sessionState.get() === 'signed-out' ? null : window.open('', '_blank'))}
      >
        {label}
      </Button>
      {isOpened && (
        <Button isPending={proceed.isPending} onClick={() => proceed.run()}>
          Continue
        </Button>
      )}
    </>
  )
}
