import { useState } from 'react'
import { useAction } from '../api/queries.ts'
import { useStore } from '../api/store.ts'
import { Button } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { TextField } from '../ui/field.tsx'
import { Form } from '../ui/layout.tsx'
import { SecondFactorForm } from './later-parts.tsx'
import {
  beginProviderSignIn,
  ProviderButton,
  readFragment,
  resumeSession,
  useSignInMethods,
} from './provider.tsx'
import { pendingToken, requestPassword, setPassword, signIn, signInWithPasskey } from './session.ts'
import styles from './sign-in.module.css'

export function SignInPage() {
  const [code, setCode] = useState(readFragment)
  const dismiss = () => {
    forgetCode()
    setCode(null)
  }
  return (
    <main className={styles.page}>
      <h1>Basalt</h1>
      {code === null ? (
        <PasswordForm />
      ) : code.startsWith('basalt_password_') ? (
        <NewPasswordForm code={code} onDone={dismiss} />
      ) : (
        <CodeForm code={code} onDismiss={dismiss} />
      )}
    </main>
  )
}

/** Sets the password of an invited administrator, who then signs in with it. */
function NewPasswordForm({ code, onDone }: { readonly code: string; readonly onDone: () => void }) {
  const [password, setNewPassword] = useState('')
  const action = useAction(() => setPassword(code, password), { failure: 'view', onDone })
  return (
    <Form onSubmit={() => action.run()}>
      <p>
        Choose a password of at least 8 characters. You then sign in with your email address and this
        password.
      </p>
      <TextField
        label="New password"
        type="password"
        autoComplete="new-password"
        autoFocus
        required
        value={password}
        onChange={setNewPassword}
        error={action.error?.message}
      />
      <Button type="submit" variant="primary" isPending={action.isPending} disabled={password.length < 8}>
        Set password
      </Button>
    </Form>
  )
}

/** Shows the form of a one-time link. Mail programs that open links must not use it up, so signing in takes a press. */
function CodeForm({ code, onDismiss }: { readonly code: string; readonly onDismiss: () => void }) {
  const action = useAction(() => signIn({ code }), {
    failure: 'view',
    onDone() {
      forgetCode()
      if (pendingToken.get() !== undefined) onDismiss()
    },
  })
  return (
    <Form onSubmit={() => action.run()}>
      <p>This link signs you in once.</p>
      {action.error !== null && <p role="alert">{action.error.message}</p>}
      <Button type="submit" variant="primary" isPending={action.isPending}>
        Sign in with this link
      </Button>
      <Button variant="plain" onClick={onDismiss}>
        Use the password instead
      </Button>
    </Form>
  )
}

function forgetCode(): void {
  history.replaceState(null, '', location.pathname + location.search)
}

/** Requests a new sign-in above the page, which stays unchanged. */
export function SessionEndedDialog() {
  return (
    <Dialog title="Your session has ended" isOpen size="small">
      <p>Sign in to continue. Your unsaved input is kept.</p>
      <PasswordForm />
    </Dialog>
  )
}

/** Signs in with a password, and the second factor that the server may require then. */
function PasswordForm() {
  const pending = useStore(pendingToken)
  if (pending === undefined) return <FirstFactorForm />
  return (
    <SecondFactorForm
      action="Sign in"
      onCode={(code) => signIn({ mfa_token: pending, code })}
      onPasskey={() => signInWithPasskey(pending)}
      onCancel={() => pendingToken.set(undefined)}
    />
  )
}

function FirstFactorForm() {
  // Until the ways are known, the form is shown, and keeps its input afterwards.
  const { provider, password } = useSignInMethods() ?? { provider: null, password: true }
  return (
    <>
      {provider !== null && (
        <ProviderButton
          label={`Sign in with ${provider.name}`}
          begin={beginProviderSignIn}
          onReturn={resumeSession}
        />
      )}
      {password && <CredentialForm />}
    </>
  )
}

function CredentialForm() {
  const passkey = useAction(() => signInWithPasskey())
  const [email, setEmail] = useState<string>()
  const [password, setPassword] = useState('')
  const credential = email === undefined ? { password } : { email, password }
  const action = useAction(() => signIn(credential), { failure: 'view' })
  const forgot = useAction(() => requestPassword(email ?? ''), {
    done: 'If an administrator has this address, a link for a new password is on its way.',
  })
  return (
    <Form onSubmit={() => action.run()}>
      {email === undefined ? (
        // Password managers store the password under a user name.
        <input type="text" autoComplete="username" value="admin" readOnly hidden />
      ) : (
        <TextField
          label="Email address"
          type="email"
          autoComplete="username"
          autoFocus
          required
          value={email}
          onChange={setEmail}
        />
      )}
      <TextField
        label={email === undefined ? 'Administrator password' : 'Password'}
        type="password"
        autoComplete="current-password"
        autoFocus={email === undefined}
        required
        value={password}
        onChange={setPassword}
        error={action.error?.message}
      />
      <Button type="submit" variant="primary" isPending={action.isPending} disabled={password === ''}>
        Sign in
      </Button>
      <Button variant="plain" onClick={() => setEmail(email === undefined ? '' : undefined)}>
        {email === undefined ? 'Use an email address' : 'Use the password alone'}
      </Button>
      {'PublicKeyCredential' in window && (
        <Button variant="plain" isPending={passkey.isPending} onClick={() => passkey.run()}>
          Use a passkey
        </Button>
      )}
      {email !== undefined && email !== '' && (
        <Button variant="plain" isPending={forgot.isPending} onClick={() => forgot.run()}>
          Forgot the password?
        </Button>
      )}
    </Form>
  )
}
